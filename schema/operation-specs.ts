/** The operations and statuses of write-backs, as the database checks them. */
import type { DatabaseKind } from './column-types.ts'

export const writebackStatuses = [
  /** Waits for approval. */
  'draft',
  'queued',
  /** May have been sent; the outcome is not known yet. */
  'sending',
  'succeeded',
  /** Refused by the service; final. */
  'failed',
  /** The record changed since the person looked; not sent again. An earlier send may be done. */
  'conflict',
  /** May or may not have arrived; blocks its lane until a person decides. */
  'uncertain',
  'cancelled',
  'expired',
] as const

export const targetKinds = ['conversation', 'visitor'] as const
export type TargetKind = (typeof targetKinds)[number]

/** A field of a target that write-backs set, and where it is read before and after. */
export type FieldSpec = {
  readonly target: TargetKind
  /** What the service calls it. */
  readonly shownAs: string
  /** Of the mirrored table; without one it is read from `raw`. */
  readonly column?: string
  /** A time since when it is set: what people call it when it is not set, and when it is. */
  readonly flagWords?: readonly [off: string, on: string]
}

/** By their names in payloads. */
export const targetFields = {
  handled: {
    target: 'conversation',
    shownAs: 'handledAt',
    column: 'handled_at',
    flagWords: ['open', 'handled'],
  },
  name: { target: 'visitor', shownAs: 'name', column: 'name' },
  email: { target: 'visitor', shownAs: 'email', column: 'email' },
} as const satisfies Readonly<Record<string, FieldSpec>>

export type FieldName = keyof typeof targetFields

export type OperationSpec = {
  readonly target: TargetKind
  /** Whether sending it twice has the same effect as once. */
  readonly isIdempotent: boolean
  /**
   * The migration by which a warehouse accepts it, with the next number. Its step `before` replaces
   * the checks of `writebacks` (`writeback-constraints.ts`). In SQLite that makes the table anew,
   * so `migrate` has to switch `foreign_keys` off before: people's tables may refer to write-backs.
   */
  readonly since: string
  /** A text is not blank. If some are optional, one must be given, and null clears it. */
  readonly payload: Readonly<
    Record<string, { readonly maxLength: number; readonly isOptional?: true } | 'flag'>
  >
}

/** In characters. The service's own limits are not documented. */
export const maxLengths = { content: 20_000, name: 300, email: 320, ref: 200 } as const

const content = { maxLength: maxLengths.content }

export const operationSpecs = {
  message: {
    target: 'conversation',
    isIdempotent: false,
    since: '0001_tables',
    payload: { content, sender_name: { maxLength: maxLengths.name } },
  },
  handled: {
    target: 'conversation',
    isIdempotent: true,
    since: '0001_tables',
    payload: { handled: 'flag' },
  },
  visitor: {
    target: 'visitor',
    isIdempotent: true,
    since: '0001_tables',
    payload: {
      name: { maxLength: maxLengths.name, isOptional: true },
      email: { maxLength: maxLengths.email, isOptional: true },
    },
  },
  note: { target: 'visitor', isIdempotent: false, since: '0001_tables', payload: { content } },
} as const satisfies Readonly<Record<string, OperationSpec>>

const described = Object.entries<OperationSpec>(operationSpecs)

export function operationsWhere(condition: (spec: OperationSpec) => boolean): readonly string[] {
  return described.flatMap(([operation, spec]) => (condition(spec) ? [operation] : []))
}

export const operationsOn = (kind: TargetKind): readonly string[] =>
  operationsWhere(({ target }) => target === kind)

export const inList = (names: readonly string[]): string =>
  `in (${names.map((name) => `'${name}'`).join(',')})`

const fields = Object.entries<FieldSpec>(targetFields)

export function shownSql(kind: DatabaseKind, { column, shownAs }: FieldSpec, row: string): string {
  if (column !== undefined) return `${row}${column}`
  return kind === 'sqlite'
    ? `${row}raw ->> '${shownAs}'`
    : `pg_catalog.jsonb_extract_path_text(${row}raw, '${shownAs}')`
}

/** The fields of a target, by the service's names. */
export function shownColumns(kind: DatabaseKind, target: TargetKind, row = ''): string {
  const own = fields.filter(([, field]) => field.target === target)
  return own.map(([, field]) => `${shownSql(kind, field, row)} as "${field.shownAs}"`).join(', ')
}

/** The column `target_snapshot`: guards compare the service with it. */
export function snapshotSql(kind: DatabaseKind, target: TargetKind, row = ''): string {
  const object = kind === 'sqlite' ? 'json_object' : 'pg_catalog.jsonb_build_object'
  const at =
    kind === 'sqlite'
      ? `${row}last_message_at`
      : `pg_catalog.to_char(${row}last_message_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
  const texts = fields.filter(
    ([, field]) => field.target === target && field.flagWords === undefined,
  )
  const members = texts.map(([name, field]) => `'${name}', ${shownSql(kind, field, row)}`)
  return `${object}(${[...(target === 'conversation' ? [`'lastMessageAt', ${at}`] : []), ...members].join(', ')})`
}
