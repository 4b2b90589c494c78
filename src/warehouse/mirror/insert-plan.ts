/** How a stream's rows become SQL parameters: the columns in order, and an encoder for each of them. */
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { stringifyJson } from '../../core/json.ts'
import type { MirrorRow, RejectedRow, Scalar } from '../../core/row.ts'
import { childStreamsOf, type StreamName, streamSpecs } from '../../core/stream-specs.ts'
import { toTimestamp } from '../../core/time.ts'
import type { StreamFields } from '../discovered-columns/field-records.ts'
import { columnTypeOf } from '../discovered-columns/field-type.ts'
import { createValueEncoder, type EncodedRow, type EncodeValue, type SqlValue } from './encode-value.ts'
import type { ProjectContext } from './project-context.ts'
import { insertedColumns, keyColumns, storedTable } from './stream-tables.ts'
import type { StatementShape } from './upsert.ts'

export type InsertPlan = {
  readonly shape: StatementShape
  /** The same with the first part of the key of new and changed rows as its result. */
  readonly shapeReturningKey: StatementShape
  /** The key's columns as indexes into a row, without `project_id`. */
  readonly keyIndexes: readonly number[]
  /** Parameters of one row. `raw`, times and texts are encoded for the database. */
  readonly encodeRow: (row: MirrorRow, requestedAt: number) => EncodedRow
}

export type InsertPlans = (stream: StreamName, fields: StreamFields, authoritative: boolean) => InsertPlan

/** Caches plans by what they depend on, so that statements are compiled once. */
export function createInsertPlans(context: ProjectContext): InsertPlans {
  const plans = new WeakMap<StreamFields, Map<string, InsertPlan>>()
  return (stream, fields, authoritative) => {
    const plansByName = plans.get(fields) ?? new Map<string, InsertPlan>()
    plans.set(fields, plansByName)
    const name = `${stream} ${authoritative}`
    const plan = plansByName.get(name) ?? buildInsertPlan(context, stream, fields, authoritative)
    plansByName.set(name, plan)
    return plan
  }
}

function buildInsertPlan(context: ProjectContext, stream: StreamName, fields: StreamFields, authoritative: boolean) {
  const table = storedTable(streamSpecs[stream].table)
  const documented = insertedColumns(table)
  const discovered = fields.withColumn.map(({ column, type }) => ({ name: column, type: columnTypeOf[type] }))
  const columns = [...documented, ...discovered]
  const newerBy = stream === 'conversations' && !authoritative ? 'last_message_at' : null
  const key = keyColumns(stream)
  const hasDependents = childStreamsOf(stream).length > 0 || stream === 'analytics'
  const shapeReturningKey = { table, columns, returning: key[0] ?? null, newerBy }
  return {
    shape: hasDependents ? shapeReturningKey : { ...shapeReturningKey, returning: null },
    shapeReturningKey,
    keyIndexes: key.map((name) => columns.findIndex((column) => column.name === name)),
    encodeRow: createRowEncoder(context, table, columns, documented.length, fields),
  }
}

/** A column's value in an encoded row. Texts and times are bound as the text that they are read as. */
export function columnText(plan: InsertPlan, row: EncodedRow, name: string): string | null {
  const value = row[plan.shape.columns.findIndex((column) => column.name === name)]
  return value === null || value === undefined ? null : String(value)
}

/** When a page was requested: in milliseconds, and as text. */
type RequestTime = { readonly at: number; readonly text: string }
type ValueReader = (row: MirrorRow, requestTime: RequestTime) => Scalar | undefined

function createRowEncoder(
  context: ProjectContext,
  table: StatementShape['table'],
  columns: StatementShape['columns'],
  documented: number,
  fields: StreamFields,
): InsertPlan['encodeRow'] {
  const encoders = columns.map(({ type }) => createValueEncoder(type, context.kind, context.escapeCount))
  const computed = computedColumns(context, table)
  const readers = columns.map(({ name }, i): ValueReader => {
    const path = fields.withColumn[i - documented]?.path
    if (path !== undefined) return (row) => row.extraFields.get(path)?.value
    return computed[name] ?? ((row) => row.columns[name])
  })
  let requestTime: RequestTime = { at: Number.NaN, text: '' }
  return (row, requestedAt) => {
    if (requestTime.at !== requestedAt) requestTime = { at: requestedAt, text: toTimestamp(requestedAt) }
    const parameters: SqlValue[] = new Array(columns.length)
    for (let i = 0; i < columns.length; i++)
      parameters[i] = (encoders[i] as EncodeValue)((readers[i] as ValueReader)(row, requestTime))
    return parameters
  }
}

/** Columns that are not filled from a field of the row. */
function computedColumns(
  context: ProjectContext,
  table: StatementShape['table'],
): Readonly<Record<string, ValueReader>> {
  return {
    project_id: () => context.project,
    raw: table === 'message_rows' ? (row) => messageRaw(context.kind, row) : (row) => stringifyJson(row.item),
    synced_at: (_row, requestTime) => requestTime.text,
    run_id: () => context.currentRunId(),
    asked_at: (_row, requestTime) => requestTime.at,
    read_at: (row, requestTime) => row.columns.read_at ?? requestTime.text,
  }
}

/** What `message_rows` has; see `schema/messages-view.ts`. */
function messageRaw(kind: DatabaseKind, { item, storedRaw }: MirrorRow): string | null {
  if (storedRaw === undefined) return `[${stringifyJson(item)}]`
  return kind === 'postgres' && storedRaw === '{}' ? null : storedRaw
}

/**
 * Bytes of one part of a key. Entries of Postgres's indexes have at most 2,704 bytes, all parts of the key together.
 * Source: its documentation, "B-Tree Indexes".
 */
const maxKeyBytes = 800

/** Encoded rows, one per key: the last one wins. Rows whose key cannot be stored are returned as `rowsWithoutKey`. */
export function encodeRows(
  plan: InsertPlan,
  rows: readonly MirrorRow[],
  requestedAt: number,
): { rows: EncodedRow[]; rowsWithoutKey: RejectedRow[] } {
  const byKey = new Map<string, EncodedRow>()
  const rowsWithoutKey: RejectedRow[] = []
  for (const row of rows) {
    const parameters = plan.encodeRow(row, requestedAt)
    const parts = plan.keyIndexes.map((i) => parameters[i] ?? null)
    const rejection = parts.includes(null)
      ? 'its key is missing or unreadable'
      : parts.some(isKeyPartTooLong)
        ? 'its id is too long'
        : null
    if (rejection === null) byKey.set(parts.join('\n'), parameters)
    else rowsWithoutKey.push({ id: row.columns.id === undefined ? null : String(row.columns.id), why: rejection })
  }
  return { rows: [...byKey.values()], rowsWithoutKey }
}

function isKeyPartTooLong(part: SqlValue): boolean {
  return typeof part === 'string' && part.length > maxKeyBytes / 4 && Buffer.byteLength(part) > maxKeyBytes
}
