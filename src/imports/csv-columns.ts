/**
 * The columns of CSV files, which follow the fields of requests, the words that people use for them, and their cells. A
 * spreadsheet executes a cell that looks like a formula, an import refuses what looks like the error of one, and visitors
 * write some of these texts: such a text gets a leading `'`, which is removed when it is read.
 */

import { targetKinds } from '../../schema/operation-specs.ts'
import { byteOrderMark, formulaStart, toCsvLine } from '../export/writers/csv-writer.ts'
import { operationTypes } from '../outbox/core/operations.ts'
import { commonNames, commonValue, requestFields, type WritebackRequest } from '../outbox/core/writeback-request.ts'
import { isFormulaError, isNoValue, isShortenedNumber } from './spreadsheet-damage.ts'

/** The columns that a person fills in: the fields of a JSON line. */
export const requestColumns: readonly string[] = [
  'operation',
  ...targetKinds.map((kind) => `${kind}_id`),
  ...requestFields.keys(),
]

/** The columns that an export adds. Imports ignore them, so a corrected export can be imported again. */
export const outcomeColumns = [
  'id',
  'project_id',
  'status',
  'error',
  'attempts',
  'batch_id',
  'created_at',
  'created_by',
  'sent_at',
  'finished_at',
  'request_id',
  'source_row',
] as const
type OutcomeColumn = (typeof outcomeColumns)[number]

/** The columns that a file of mistakes adds: the row in the imported file, and why it was refused. */
export const mistakeColumns = ['row', 'mistake'] as const
/** In such a file, what the columns of a request cannot hold: a JSON line as it is. */
export const jsonLineColumn = 'line'

/** In a sheet of replies: whose conversation it is, where a row has no `conversation_id`. */
export const visitorColumns = ['visitor_email', 'visitor_name'] as const
/** What a sheet of replies shows besides. */
export const shownColumns = ['last_words', 'waiting_since'] as const

const columnsByKey = new Map(
  [
    ...[...requestColumns, ...outcomeColumns, ...mistakeColumns, jsonLineColumn],
    ...[...visitorColumns, ...shownColumns],
  ].map((name) => [toColumnKey(name), name]),
)

/** `Conversation ID`, `conversationId` and `CONVERSATION-ID` are the same. */
export function toColumnKey(header: string): string {
  return header
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '')
}

/** The column that has this name; undefined if imports and exports have none. */
export function namedColumn(header: string): string | undefined {
  return columnsByKey.get(toColumnKey(header))
}

/** The column that a header cell means, also by another word. */
export function knownColumn(header: string): string | undefined {
  return namedColumn(header) ?? columnOfWord(toColumnKey(header))
}

export function isRequestColumn(name: string | undefined): name is string {
  return name !== undefined && requestColumns.includes(name)
}

/** As a spreadsheet shows it: A, B, …, Z, AA. `index` counts from 0. */
export function columnLetter(index: number): string {
  const last = String.fromCharCode(65 + (index % 26))
  return index < 26 ? last : columnLetter(Math.floor(index / 26) - 1) + last
}

/** The bare text `null` is included because an unquoted `null` cell means no value. */
const bareNull = /^'*null$/

/** Whether the text needs a leading apostrophe, also if it has some already. */
function isAmbiguous(text: string): boolean {
  if (formulaStart.test(text) || bareNull.test(text)) return true
  const bare = text.replace(/^'+/, '')
  return isFormulaError(bare) || isNoValue(bare) || isShortenedNumber(bare)
}

/** The cell's text, not yet quoted. */
export function toCsvCell(value: string | number | boolean | null): string {
  if (typeof value !== 'string') return String(value)
  return isAmbiguous(value) ? `'${value}` : value
}

/** The cell `null` is no value; every other cell is text. */
export function fromCsvCell(cell: string): string | null {
  if (cell === 'null') return null
  return cell.startsWith("'") && isAmbiguous(cell) ? cell.slice(1) : cell
}

/** The cell of another file: the same value and the same mistakes, and never a formula. */
export function toHarmlessCell(cell: string): string {
  return formulaStart.test(cell) && !cell.startsWith("'") ? `'${cell}` : cell
}

/** How people and spreadsheets write true and false: a spreadsheet in the language of its user. */
const trueWords = `true yes y on x 1 1.0 ✓ ✔ ☑ ☒ ja j wahr oui vrai sí si verdadero vero sim verdadeiro waar tak prawda sant
  sand sann tosi pravda doğru igaz да истина правда はい 是`
const falseWords = `false no n off 0 0.0 ✗ ✘ ☐ nein falsch non faux falso nee onwaar nie fałsz falskt falsk usann epätosi
  nepravda yanlış hamis нет ложь неправда いいえ 否`

const flags: ReadonlyMap<string, boolean> = new Map([
  ...wordsOf(trueWords).map((word) => [word, true] as const),
  ...wordsOf(falseWords).map((word) => [word, false] as const),
])

/** Undefined if it is neither. */
export function parseFlag(text: string): boolean | undefined {
  return flags.get(text.trim().normalize().toLowerCase()) ?? flags.get(text.trim().normalize().toLocaleLowerCase('tr'))
}

function wordsOf(words: string): readonly string[] {
  return words.split(/\s+/)
}

export const csvHeader = `${byteOrderMark}${toCsvLine([...outcomeColumns, ...requestColumns])}`

/** `outcome`: by column of the table `writebacks`. One line below `csvHeader`; importing it gives the same request. */
export function toCsvRow(
  outcome: { readonly [C in OutcomeColumn]?: string | number | null },
  request: WritebackRequest,
): string {
  const { operation, target, payload } = request
  const cells: Readonly<Record<string, string | boolean | null>> = {
    ...{ operation, [`${operationTypes[operation].target}_id`]: target, ...payload },
    ...Object.fromEntries(commonNames.map((name) => [name, commonValue(request, name) ?? ''])),
  }
  return toCsvLine([
    // In an outcome, null means no value (an empty cell); in a request, null clears a field.
    ...outcomeColumns.map((column) => toCsvCell(outcome[column] ?? '')),
    ...requestColumns.map((column) => toCsvCell(cells[column] === undefined ? '' : cells[column])),
  ])
}

/**
 * What people write at the head of a column of a sheet of replies, in English and German, as `toColumnKey` writes it. Words that
 * may as well mean what the customer wrote, such as "message", are left to the person who imports it.
 */
const headerWords: Readonly<Record<string, string>> = {
  conversation_id: 'conversation konversation gespräch gesprächsid unterhaltung unterhaltungsid chat chatid',
  visitor_email: `email mail emailaddress mailaddress emailadresse mailadresse customeremail visitormail customermail
    kundenemail kundenmail besucheremail`,
  visitor_name: 'name visitor customer customername client clientname kunde kundin kundenname besucher besuchername',
  content: 'text reply replytext answer answertext response ourreply antwort antworttext unsereantwort',
  handled: 'done closed resolved completed finished erledigt geschlossen abgeschlossen gelöst fertig',
  sender_name: 'signedby absendername unterschrift',
  ref: 'reference key referenz schlüssel',
  expect: 'lastmessageid',
  expires_at: 'expires expiry validuntil notafter gültigbis läuftab ablauf',
}

const columnsByWord = new Map(
  Object.entries(headerWords).flatMap(([column, list]) => list.split(/\s+/).map((word) => [word, column] as const)),
)

/** The column that a header of a sheet means; undefined: none. */
export function columnOfWord(key: string): string | undefined {
  return columnsByWord.get(key)
}
