/** Lists of conversations as files to answer in a spreadsheet. */
import type { ByteOutput, SpreadsheetForm } from '../../export/export.ts'
import { createSheetWriter, downloadedColumns, sheetTemplate } from '../../imports/reply-sheet.ts'
import { withQuery } from '../../values/address.ts'
import { type Html, html, nothing } from '../../values/html.ts'
import { addressOf } from '../blocks.ts'
import type { ProjectFrame } from '../frame.ts'
import type { FileAnswer, ScreenRequest } from '../screen.ts'
import { replySheet, type SheetList } from '../sql/reply-sheet.ts'
import { downloadLinks, parseForm, toFile } from '../table-file.ts'
import { todayOf } from '../text.ts'
import { whyNoDraft } from './draft-form.ts'

/** Who waits, and for how long at least. */
export function parseWaiting(query: ScreenRequest['query']) {
  const seconds = Number(query('older') ?? 0)
  const minAgeMs = Number.isInteger(seconds) && seconds > 0 && seconds < 1e9 ? seconds * 1000 : 0
  return { minAgeMs, isUnassigned: query('assigned') === 'none' }
}

function parseList(query: ScreenRequest['query']): SheetList {
  const text = query('q')
  const id = query('visitor')
  if (text !== null) return { kind: 'search', text }
  return id === null ? { kind: 'waiting', ...parseWaiting(query) } : { kind: 'visitor', id }
}

/** Null for a person who may not read what customers wrote. */
export async function showSheet({
  reads,
  project,
  frame,
  query,
}: ScreenRequest): Promise<FileAnswer | null> {
  const form: SpreadsheetForm = parseForm(query) ?? { format: 'csv', separator: ',' }
  const openWith = (names: readonly string[]) => (output: ByteOutput) =>
    createSheetWriter(names, output, form)
  if (query('template') !== null)
    return toFile('template', openWith(sheetTemplate.names), [sheetTemplate.rows], form)
  if (frame.viewer?.hidesMessages === true) return null
  const list = parseList(query)
  const rows = replySheet(await reads.longDb(project), list, project, frame.now)
  const columns = downloadedColumns(project.replies)
  return toFile(`${list.kind}-${todayOf(frame)}`, openWith(columns), rows, form)
}

/** `asked`: the list that the page shows, all of its pages. And where the filled sheet goes. */
export function sheetLink(
  asked: Readonly<Record<string, string | null>>,
  frame: ProjectFrame,
): Html {
  if (frame.viewer?.hidesMessages === true) return nothing
  const address = (form: Readonly<Record<string, string>>) =>
    withQuery(addressOf(frame, 'sheet'), { ...asked, ...form })
  const back =
    whyNoDraft(frame) === null
      ? html`<a class="button" href="${addressOf(frame, 'import')}">Import the answers…</a>`
      : nothing
  return html`<div class="actions">${downloadLinks(address, 'Download all to answer')}${back}</div>`
}
