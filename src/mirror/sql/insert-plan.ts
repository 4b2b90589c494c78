/** How a stream's rows become SQL parameters: the columns in order, and an encoder for each of them. */
import type { DatabaseKind } from '../../../schema/column-types.ts'
import type { MirrorRow, RejectedRow } from '../../../schema/row.ts'
import { childStreamsOf, isListStream, type StreamName, streamSpecs } from '../../../schema/stream-specs.ts'
import type { Scalar } from '../../values/json.ts'
import { stringifyJson } from '../../values/json.ts'
import { type EpochMs, toTimestamp } from '../../values/time.ts'
import type { StreamFields } from './discovered-columns/field-records.ts'
import { columnTypeOf } from './discovered-columns/field-type.ts'
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
  /** Parameters of each row of a page. `raw`, times and texts are encoded for the database. */
  readonly rowEncoder: (requestedAt: EpochMs) => (row: MirrorRow) => EncodedRow
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
  const pageColumns = documented.filter(({ name }) => name in pageValues)
  const rowColumns: readonly RowColumn[] = [
    ...documented.filter(({ name }) => !(name in pageValues)),
    ...fields.withColumn.map(({ column, type, path }) => ({ name: column, type: columnTypeOf[type], path })),
  ]
  const columns = [...pageColumns, ...rowColumns]
  const newerBy = isListStream(stream) && !authoritative ? streamSpecs[stream].newerBy : null
  const key = keyColumns(stream)
  const hasDependents = childStreamsOf(stream).length > 0 || stream === 'analytics'
  const shapeReturningKey = { table, columns, pageColumns: pageColumns.length, returning: key[0] ?? null, newerBy }
  return {
    shape: hasDependents ? shapeReturningKey : { ...shapeReturningKey, returning: null },
    shapeReturningKey,
    keyIndexes: key.map((name) => columns.findIndex((column) => column.name === name)),
    rowEncoder: createRowEncoder(context, table, pageColumns, rowColumns),
  }
}

/** A column's value in an encoded row. Texts and times are bound as the text that they are read as. */
export function columnText(plan: InsertPlan, row: EncodedRow, name: string): string | null {
  const value = row[plan.shape.columns.findIndex((column) => column.name === name)]
  return value === null || value === undefined ? null : String(value)
}

type Column = StatementShape['columns'][number]
/** `path`: of the undocumented field that it has. */
type RowColumn = Column & { readonly path?: string }

/** What all rows of a page have in common: whose they are, and when which run read them. */
const pageValues: Readonly<Record<string, (context: ProjectContext, requestedAt: EpochMs) => Scalar>> = {
  project_id: ({ project }) => project,
  synced_at: (_context, requestedAt) => toTimestamp(requestedAt),
  run_id: ({ currentRunId }) => currentRunId(),
  asked_at: (_context, requestedAt) => requestedAt,
}

type ValueReader = (row: MirrorRow, requestedAt: EpochMs) => Scalar | undefined

function createRowEncoder(
  context: ProjectContext,
  table: StatementShape['table'],
  pageColumns: readonly Column[],
  rowColumns: readonly RowColumn[],
): InsertPlan['rowEncoder'] {
  const encoderOf = ({ type }: Column) => createValueEncoder(type, context.kind, context.escapeCount)
  const ofPage = pageColumns.map((column) => ({ encode: encoderOf(column), value: pageValues[column.name] }))
  const encoders = rowColumns.map(encoderOf)
  const readers = rowColumns.map((column) => createValueReader(context.kind, table, column))
  return (requestedAt) => {
    const common = ofPage.map(({ encode, value }) => encode(value?.(context, requestedAt)))
    return (row) => {
      const parameters = common.slice()
      for (let i = 0; i < encoders.length; i++)
        parameters.push((encoders[i] as EncodeValue)((readers[i] as ValueReader)(row, requestedAt)))
      return parameters
    }
  }
}

function createValueReader(kind: DatabaseKind, table: StatementShape['table'], { name, path }: RowColumn): ValueReader {
  if (path !== undefined) return (row) => row.extraFields.get(path)?.value
  if (name === 'raw')
    return table === 'message_rows' ? (row) => messageRaw(kind, row) : (row) => stringifyJson(row.item)
  if (name === 'read_at') return (row, requestedAt) => row.columns.read_at ?? toTimestamp(requestedAt)
  return (row) => row.columns[name]
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
  const encodeRow = plan.rowEncoder(requestedAt)
  for (const row of rows) {
    const parameters = encodeRow(row)
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
