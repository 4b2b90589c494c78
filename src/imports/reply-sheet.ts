/**
 * Sheets of replies: tables without the column `operation`, as lists of conversations are downloaded.
 * A row is a reply, the flag "handled", or first the reply and then the flag; one without either is
 * still to be written, and no mistake. Pure.
 */
import type { ByteOutput, ExportRow, RowWriter, SpreadsheetForm } from '../export/export.ts'
import { createSpreadsheetWriter } from '../export/writers/row-writers.ts'
import { commonFields } from '../outbox/core/common-fields.ts'
import { isTargetId, type RequestMistake, toMistake } from '../outbox/core/writeback-request.ts'
import { toCsvCell, toTextCell } from './csv-cells.ts'
import { shownColumns, visitorColumns } from './csv-header-words.ts'

const commonColumns = Object.fromEntries(
  Object.entries(commonFields).map(([name, { help }]) => [name, help]),
) as Readonly<Record<keyof typeof commonFields, string>>

/**
 * What a person fills in, and what each does: in the template, and where a person says what a
 * column is.
 */
export const sheetColumns = {
  conversation_id: 'the id of the conversation',
  visitor_email:
    "instead of an id: the visitor's address. It must lead to one " +
    'conversation, or to one that is open',
  visitor_name: "instead of an id: the visitor's name, exactly as it is",
  content: 'the reply. Empty: none is sent',
  template: 'instead of content: the name of a text of the project',
  handled: 'yes marks the conversation handled, after the reply',
  sender_name:
    'the name that the visitor sees; empty: the one that is given when the sheet is imported',
  ...commonColumns,
} as const

export function isSheetColumn(name: string | undefined): name is keyof typeof sheetColumns {
  return name !== undefined && Object.hasOwn(sheetColumns, name)
}

/** What a person may say that a column means. */
export const columnMeanings = { ...sheetColumns, ignored: 'nothing' } as const

export function isMeaning(name: string): boolean {
  return Object.hasOwn(columnMeanings, name)
}

/** `columns`: the meanings of all headers that have one. A visitor's id is for other operations. */
export function isSheetOfReplies(columns: readonly (string | undefined)[]): boolean {
  const hasOne = (...names: string[]) => names.some((name) => columns.includes(name))
  return (
    hasOne('conversation_id', ...visitorColumns) &&
    hasOne('content', 'template', 'handled') &&
    !hasOne('visitor_id')
  )
}

export type SoughtVisitor = { readonly email: string | null; readonly name: string | null }
export type VisitorMatch =
  | { readonly conversationId: string; readonly foundBy: string }
  | { readonly mistake: RequestMistake }

export type SheetOptions = {
  /** The sender of replies that name none. */
  readonly senderName?: string
  readonly findConversation?: (visitor: SoughtVisitor) => VisitorMatch
  /** Called for a row without a reply and a flag. */
  readonly onEmptyRow?: () => void
}

/** Of a row, by the name of the field. */
export type CellValues = Readonly<Record<string, string | boolean | null>>

/** The rows of an import that a row of a sheet is. */
export function toSheetRequests(fields: CellValues, { findConversation }: SheetOptions) {
  const { content, template, handled, sender_name, visitor_email, visitor_name, ref, ...others } =
    fields
  const hasReply = content !== undefined || template !== undefined
  const sought = { email: toText(visitor_email), name: toText(visitor_name) }
  const isSought =
    others.conversation_id === undefined && (sought.email !== null || sought.name !== null)
  const hasFlag = handled !== undefined && handled !== false
  if (!hasReply && !hasFlag) return { requests: [], mistakes: [], foundBy: null }
  const found = isSought ? findConversation?.(sought) : undefined
  const match = found !== undefined && 'conversationId' in found ? found : null
  const shared = match === null ? others : { ...others, conversation_id: match.conversationId }
  const reply = { ...shared, operation: 'message', content, template, sender_name, ref }
  // Its own key, so that a flag may follow a reply of an earlier import.
  const flagRef = ref == null ? ref : `${ref} handled`
  const flag = { ...shared, operation: 'handled', handled, ref: flagRef }
  const requests = [...(hasReply ? [reply] : []), ...(hasFlag ? [flag] : [])].map(
    (request) =>
      Object.fromEntries(
        Object.entries(request).filter(([, value]) => value !== undefined),
      ) as CellValues & { ref?: string },
  )
  const mistakes = found !== undefined && 'mistake' in found ? [found.mistake] : refMistakes(fields)
  return { requests, mistakes, foundBy: match?.foundBy ?? null }
}

function toText(value: CellValues[string] | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

const refStart = 'sheet'

/** The row is of a sheet that was downloaded. */
export function isDownloaded(ref: string | null): boolean {
  return ref?.startsWith(`${refStart} `) === true
}

const movedRef =
  'is of another conversation: was the sheet sorted by some of its columns only? Download ' +
  'it again, or sort all of them'

/** The ref of a downloaded row names its conversation. */
function refMistakes({ ref, conversation_id: id }: CellValues): readonly RequestMistake[] {
  const [start, of] = String(ref).split(' ')
  const isMoved =
    start === refStart && isTargetId(id) && of?.toLowerCase() !== String(id).toLowerCase()
  return isMoved ? [toMistake('ref', movedRef, ref)] : []
}

/** In the order of the columns. */
export type SheetCells = readonly (string | null)[]

/** A conversation in a sheet; times are RFC 3339. */
export type SheetRow = { readonly id: string } & Readonly<
  Record<'name' | 'email' | 'lastWords' | 'waitingSince' | 'lastMessageId', string | null>
>

const shownFirst = ['conversation_id', 'visitor_name', 'visitor_email', ...shownColumns] as const
const filledIn = ['content', 'template', 'handled', 'sender_name', 'expires_at'] as const
type DownloadedColumn = (typeof shownFirst | typeof filledIn)[number] | 'ref' | 'expect'

/** `texts`: those of the project; without any, no row can name one. */
export function downloadedColumns(
  texts: Readonly<Record<string, string>>,
): readonly DownloadedColumn[] {
  const filled = filledIn.filter((name) => name !== 'template' || Object.keys(texts).length > 0)
  return [...shownFirst, ...filled, 'ref', 'expect']
}

/**
 * Without a reply. `ref` and `expect` stand for the conversation as it is now, so a row is queued
 * once for each of its states.
 */
export function toSheetCells(
  { id, name, email, lastWords, waitingSince, lastMessageId }: SheetRow,
  columns: readonly DownloadedColumn[],
): SheetCells {
  const cells: Partial<Record<DownloadedColumn, string | null>> = {
    conversation_id: id,
    visitor_name: name,
    visitor_email: email,
    last_words: lastWords,
    waiting_since: waitingSince,
    ref: [refStart, id, lastMessageId ?? 'empty'].join(' '),
    expect: lastMessageId,
  }
  return columns.map((column) => cells[column] ?? null)
}

/** Writes rows with these columns. What an import reads of them is the same in every form. */
export function createSheetWriter(
  names: readonly string[],
  output: ByteOutput,
  form: SpreadsheetForm,
): RowWriter {
  const columns = names.map((name) => ({ name, type: 'text' }) as const)
  const { write, end } = createSpreadsheetWriter('replies', columns, output, form, {
    escapeText: (cell) => cell,
    isFilledIn: true,
  })
  const toCell = (text: string, name: string | undefined) => {
    if (form.format === 'xlsx') return toTextCell(text)
    // A spreadsheet shortens longer numbers unless they are text.
    return name === 'expect' && /^\d{12,}$/.test(text) ? `'${text}` : toCsvCell(text)
  }
  const toCells = (row: ExportRow) =>
    row.map((cell, n) => (cell === null ? null : toCell(String(cell), names[n])))
  return { write: (rows) => write(rows.map(toCells)), end }
}

const explanations: ReadonlySet<string> = new Set(Object.values(sheetColumns))

/** The columns with a row that explains them, which an import skips. */
export const sheetTemplate = {
  names: Object.keys(sheetColumns),
  rows: [Object.values(sheetColumns)],
}

export function isExplanation(cells: readonly string[]): boolean {
  const filled = cells.filter((cell) => cell.trim() !== '')
  return filled.length > 1 && filled.every((cell) => explanations.has(cell))
}
