/** Fills new columns of stored rows from `raw`, batch by batch, without requests to the service. */
import { sql } from 'kysely'
import { columnTypeOf, type FieldType } from '../../../../schema/column-types.ts'
import { type StreamName, streamSpecs } from '../../../../schema/stream-specs.ts'
import { tables } from '../../../../schema/tables.ts'
import { fieldAtNames } from '../../../values/field-path.ts'
import { parseJson } from '../../../values/json.ts'
import type { EpochMs } from '../../../values/time.ts'
import { batchesOf, inList } from '../../../warehouse/dialect.ts'
import { decodeJson, decodeText } from '../../../warehouse/escape.ts'
import type { ProjectDb } from '../../../warehouse/project-db.ts'
import type { RowKey } from '../../core/mirror.ts'
import { encodeValue } from '../encode-value.ts'
import { hasKey, readRowsAfterKey } from '../reader.ts'
import { streamTables } from '../stream-tables.ts'
import type { ProjectContext } from '../sync-runs.ts'
import { type FormerColumn, formerColumnsReader } from './field-records.ts'
import { canHold, fieldTypeOf, fittingValue, toFieldType, widerType } from './field-types.ts'

/** Per transaction: other writers run in between, and a crash repeats one batch at most. */
const batchRows = 500

type StoredField = {
  stream: string
  path: string
  column_name: string
  type: FieldType
  former: string | null
  fill_after: string
}
/**
 * Adds the columns that earlier runs could not add, and fills all unfilled ones, of every project.
 * What is filled may need a still wider column: at most twice, to a number and to text.
 */
export async function completeColumns(context: ProjectContext, now: EpochMs): Promise<void> {
  for (let round = 0; round < 3; round++) {
    const hasWidened = await context.fields.widenRemembered(now)
    if (round > 0 && !hasWidened) return
    await backfillColumns(context)
  }
}

async function backfillColumns(context: ProjectDb): Promise<void> {
  const nextBatch = () =>
    context.db.transaction().execute((db) => backfillBatch({ ...context, db }))
  while (await nextBatch());
}

/** Fills one batch of the columns that are filled up to the same key; false: nothing is left. */
async function backfillBatch(trx: ProjectDb): Promise<boolean> {
  const { db, kind } = trx
  const { rows } = await sql<Pick<StoredField, 'stream' | 'fill_after'>>`
    select stream, fill_after from discovered_fields
    where fill_after is not null and column_name is not null order by stream, fill_after limit
    1`.execute(db)
  const position = rows[0]
  if (position === undefined) return false
  const stream = position.stream as StreamName
  const { table } = streamSpecs[stream]
  // Without duplicates, as several projects may have the same field.
  const { rows: unfilled } = await sql<StoredField>`
    select distinct stream, path, column_name, type, former_columns as former, fill_after
    from discovered_fields
    where stream = ${position.stream} and fill_after = ${position.fill_after}
    and column_name is not null`.execute(db)
  const readFormer = await formerColumnsReader(db, kind, stream, unfilled)
  const fields = [...new Map(unfilled.map((field) => [field.column_name, field])).values()].map(
    ({ former, ...field }) => ({ ...field, formerColumns: readFormer(former) }),
  )
  const range = { table, columns: tables[table].key, where: sql`true`, limit: batchRows }
  const after = position.fill_after === '' ? null : JSON.parse(position.fill_after)
  const batch = await readRowsAfterKey(db, kind, { ...range, after })
  const neededTypes = new Map<string, FieldType>()
  for (const row of batch) await backfillRow(trx, stream, fields, row, neededTypes)
  const last = batch.at(-1)
  const reached = batch.length < batchRows || last === undefined ? null : JSON.stringify(last.key)
  const paths = fields.map(({ path }) => path)
  const isField = sql`stream = ${position.stream} and path ${inList(kind, paths)}`
  await sql`update discovered_fields set fill_after = ${trx.typed('text', reached)}
    where ${isField} and fill_after = ${position.fill_after}`.execute(db)
  for (const [path, type] of neededTypes)
    await sql`update discovered_fields set needed_type = ${type}
      where stream = ${position.stream} and path = ${path}`.execute(db)
  return true
}

const maxColumnsPerUpdate = 200

async function backfillRow(
  { db, kind, typed }: ProjectDb,
  stream: StreamName,
  fields: readonly (Pick<StoredField, 'path' | 'column_name' | 'type'> & {
    readonly formerColumns: readonly FormerColumn[]
  })[],
  row: { readonly key: RowKey; readonly raw: string },
  /** Receives the types of values that do not fit their column, by path. */
  neededTypes: Map<string, FieldType>,
): Promise<void> {
  const { table } = streamSpecs[stream]
  const item = parseJson(decodeJson(kind, row.raw))
  const filled = fields.flatMap(({ path, type, column_name, formerColumns }) => {
    const extra = fieldAtNames(item, decodeText(path))
    // A new column has null anyway.
    if (formerColumns.length === 0 && (extra === undefined || extra.value === null)) return []
    const own = extra === undefined ? null : fieldTypeOf(extra)
    if (extra !== undefined && own !== null && !canHold(type, extra))
      neededTypes.set(path, toFieldType(widerType(neededTypes.get(path) ?? type, own)))
    return [{ name: column_name, type }, ...formerColumns].map((held) => {
      const column = columnTypeOf(held.type)
      const value = encodeValue(kind, column, fittingValue(held.type, extra))
      return { name: sql.ref(held.name), value: typed(column, value) }
    })
  })
  const isRow = hasKey(kind, table, tables[table].key, row.key)
  for (const batch of batchesOf(filled, maxColumnsPerUpdate)) {
    const assignments = batch.map(({ name, value }) => sql`${name} = ${value}`)
    const differences = batch.map(({ name, value }) => sql`${name} is distinct from ${value}`)
    await sql`update ${sql.table(streamTables[stream].stored)} set ${sql.join(assignments)}
      where ${isRow} and (${sql.join(differences, sql` or `)})`.execute(db)
  }
}
