/** Lists of conversations as files to answer in a spreadsheet. */
import { Readable } from 'node:stream'
import { sheetTemplate } from '../../imports/reply-sheet.ts'
import { withQuery } from '../../values/address.ts'
import { inChunks } from '../../values/chunks.ts'
import { type Html, html, nothing } from '../../values/html.ts'
import { addressOf } from '../blocks.ts'
import type { ProjectFrame } from '../frame.ts'
import type { FileAnswer, ScreenRequest } from '../screen.ts'
import type { SheetList } from '../sql/reply-sheet.ts'
import { todayOf } from '../text.ts'

/** Who waits, and for how long at least. */
export function waitingAsked(query: ScreenRequest['query']) {
  const seconds = Number(query('older') ?? 0)
  const minAgeMs = Number.isInteger(seconds) && seconds > 0 && seconds < 1e9 ? seconds * 1000 : 0
  return { minAgeMs, isUnassigned: query('assigned') === 'none' }
}

function listAsked(query: ScreenRequest['query']): SheetList {
  const text = query('q')
  const id = query('visitor')
  if (text !== null) return { kind: 'search', text }
  return id === null ? { kind: 'waiting', ...waitingAsked(query) } : { kind: 'visitor', id }
}

/** Null for a person who may not read what customers wrote. */
export async function showSheet({
  reads,
  project,
  frame,
  query,
}: ScreenRequest): Promise<FileAnswer | null> {
  if (query('template') !== null) return toFile('template', [sheetTemplate])
  if (frame.viewer?.hidesMessages === true) return null
  const list = listAsked(query)
  return toFile(`${list.kind}-${todayOf(frame)}`, await reads.sheet(project, list))
}

/** A long one is sent while it is read. */
function toFile(name: string, lines: AsyncIterable<string> | readonly string[]): FileAnswer {
  const content = Readable.from(inChunks(lines, linesPerChunk)).map((chunk: readonly string[]) =>
    chunk.join(''),
  )
  return { file: { name: `${name}.csv`, type: 'text/csv; charset=utf-8', content } }
}

const linesPerChunk = 200

/** `asked`: the list that the page shows, all of its pages. */
export function sheetLink(
  asked: Readonly<Record<string, string | null>>,
  frame: ProjectFrame,
): Html {
  if (frame.viewer?.hidesMessages === true) return nothing
  return html`<p><a class="button" href="${withQuery(addressOf(frame, 'sheet'), asked)}">Download
    all as a sheet to answer</a></p>`
}
