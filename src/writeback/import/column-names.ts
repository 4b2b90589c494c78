/** The names of CSV columns, in the file and as people write them. */
import { commonFields } from '../../core/outbox/request-fields.ts'
import { operationTypes, targetKinds } from '../../core/outbox/writeback-request.ts'

export const payloadFields = new Map(Object.values(operationTypes).flatMap(({ fields }) => Object.entries(fields)))

/** The columns that a person fills in: the fields of a JSON line. */
export const requestColumns: readonly string[] = [
  'operation',
  ...targetKinds.map((kind) => `${kind}_id`),
  ...payloadFields.keys(),
  ...Object.keys(commonFields),
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
] as const
export type OutcomeColumn = (typeof outcomeColumns)[number]

/** The columns that a file of mistakes adds: the row in the imported file, and why it was refused. */
export const mistakeColumns = ['row', 'mistake'] as const
/** In such a file, what the columns of a request cannot hold: a JSON line as it is. */
export const jsonLineColumn = 'line'

const columnsByKey = new Map(
  [...requestColumns, ...outcomeColumns, ...mistakeColumns, jsonLineColumn].map((name) => [toColumnKey(name), name]),
)

/** `Conversation ID`, `conversationId` and `CONVERSATION-ID` are the same. */
export function toColumnKey(header: string): string {
  return header
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '')
}

/** The column that a header cell names; undefined if imports and exports have none of that name. */
export function knownColumn(header: string): string | undefined {
  return columnsByKey.get(toColumnKey(header))
}

export function isRequestColumn(name: string | undefined): name is string {
  return name !== undefined && requestColumns.includes(name)
}

/** As a spreadsheet shows it: A, B, …, Z, AA. `index` counts from 0. */
export function columnLetter(index: number): string {
  const last = String.fromCharCode(65 + (index % 26))
  return index < 26 ? last : columnLetter(Math.floor(index / 26) - 1) + last
}
