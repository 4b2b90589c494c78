/**
 * The columns of CSV files: the fields of requests, what exports, mistakes and sheets add, and the
 * words that people use for them.
 */
import { targetKinds } from '../../schema/operation-specs.ts'
import { requestFields } from '../outbox/core/operations.ts'

/** The columns that a person fills in: the fields of a JSON line. */
export const requestColumns: readonly string[] = [
  'operation',
  ...targetKinds.map((kind) => `${kind}_id`),
  ...requestFields.keys(),
]

/**
 * The columns that an export adds. Imports ignore them, so a corrected export can be imported
 * again.
 */
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
  'visitor_name',
] as const

/**
 * The columns that a file of mistakes adds: the row in the imported file, and why it was refused.
 */
export const mistakeColumns = ['row', 'mistake'] as const
/** In such a file, what the columns of a request cannot hold: a JSON line as it is. */
export const jsonLineColumn = 'line'

/** In place of `content`: the name of a text of `replies`. */
export const templateColumn = 'template'

/** In a sheet of replies: whose conversation it is, where a row has no `conversation_id`. */
export const visitorColumns = ['visitor_email', 'visitor_name'] as const
/** What a sheet of replies shows besides. */
export const shownColumns = ['last_words', 'waiting_since'] as const

/**
 * Only exports of write-backs and files of mistakes have these: their texts are defused within,
 * too.
 */
export function isOwnHeader(cells: readonly string[]): boolean {
  const own = ['mistake', 'attempts', 'finished_at', 'request_id']
  return cells.some((cell) => own.includes(namedColumn(cell) ?? ''))
}

const columnsByKey = new Map(
  [
    ...requestColumns,
    templateColumn,
    ...outcomeColumns,
    ...mistakeColumns,
    jsonLineColumn,
    ...visitorColumns,
    ...shownColumns,
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
  return name !== undefined && (name === templateColumn || requestColumns.includes(name))
}

/** As a spreadsheet shows it: A, B, …, Z, AA. `index` counts from 0. */
export function columnLetter(index: number): string {
  const last = String.fromCharCode(65 + (index % 26))
  return index < 26 ? last : columnLetter(Math.floor(index / 26) - 1) + last
}

/**
 * What people write at the head of a column of a sheet of replies, in English and German, as
 * `toColumnKey` writes it. Words that may as well mean what the customer wrote, such as "message",
 * are left to the person who imports it.
 */
const headerWords: Readonly<Record<string, string>> = {
  conversation_id:
    'conversation konversation gespräch gesprächsid unterhaltung unterhaltungsid chat chatid',
  visitor_email: `email mail emailaddress mailaddress emailadresse mailadresse customeremail visitormail customermail
    kundenemail kundenmail besucheremail`,
  visitor_name:
    'name visitor customer customername client clientname kunde kundin ' +
    'kundenname besucher besuchername',
  content:
    'text reply replytext answer answertext response ourreply antwort antworttext unsereantwort',
  handled:
    'done closed resolved completed finished erledigt geschlossen abgeschlossen gelöst fertig',
  sender_name: 'signedby absendername unterschrift',
  ref: 'reference key referenz schlüssel',
  expect: 'lastmessageid',
  expires_at: 'expires expiry validuntil notafter gültigbis läuftab ablauf',
}

const columnsByWord = new Map(
  Object.entries(headerWords).flatMap(([column, list]) =>
    list.split(/\s+/).map((word) => [word, column] as const),
  ),
)

/** The column that a header of a sheet means; undefined: none. */
export function columnOfWord(key: string): string | undefined {
  return columnsByWord.get(key)
}

/**
 * What a mistyped header may stand for: long words of a column, and those that a person would have
 * to confirm.
 */
export const guessedWords: ReadonlyMap<string, string> = new Map([
  ...[...columnsByWord].filter(([word]) => word.length > 4),
  ...['message', 'nachricht'].map((word) => [word, 'content'] as const),
])
