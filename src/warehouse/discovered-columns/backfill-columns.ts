/** Fills new columns of stored rows from `raw`, batch by batch, without requests to the service. */
import { sql } from 'kysely'
import { tables } from '../../../schema/tables.ts'
import { fieldAtPath } from '../../core/field-path.ts'
import { parseJson } from '../../core/json.ts'
import type { RowKey } from '../../core/mirror.ts'
import { type MirroredTable, type StreamName, streamSpecs } from '../../core/stream-specs.ts'
import type { Db } from '../database/connection-pool.ts'
import { listParameter, typedParameter } from '../database/dialect.ts'
import { decodeJson, decodeText } from '../database/escape.ts'
import { createValueEncoder } from '../mirror/encode-value.ts'
import type { ProjectContext } from '../mirror/project-context.ts'
import { keyParameters, readRowsAfterKey } from '../mirror/reader.ts'
import { columnTypeOf, type FieldType } from './field-type.ts'

/** Rows per transaction: other writers can run in between, and a crash repeats one batch at most. */
const batchRows = 500

type UnfilledColumn = { stream: string; path: string; column_name: string; type: string; fill_after: string }

/** Fills all unfilled columns, of every project. Each sync run starts with it. */
export async function backfillColumns(context: ProjectContext): Promise<void> {
  for (;;) {
    const hasMore = await context.db.transaction().execute((trx) => backfillBatch(context, trx))
    if (!hasMore) return
  }
}

/** One batch of rows, for all columns that are filled up to the same key; false when nothing is left. */
async function backfillBatch(context: ProjectContext, trx: Db): Promise<boolean> {
  const { rows } = await sql<Pick<UnfilledColumn, 'stream' | 'fill_after'>>`
    select stream, fill_after from discovered_fields
    where fill_after is not null and column_name is not null order by stream, fill_after limit 1`.execute(trx)
  const position = rows[0]
  if (position === undefined) return false
  const { table } = streamSpecs[position.stream as StreamName]
  const fields = await columnsAtPosition(trx, position)
  const range = { table, columns: tables[table].key, where: sql`true`, limit: batchRows }
  const after = position.fill_after === '' ? null : JSON.parse(position.fill_after)
  const batch = await readRowsAfterKey(trx, context.kind, { ...range, after })
  for (const row of batch) await backfillRow(context, trx, table, fields, row)
  const last = batch.at(-1)
  const reached = batch.length < batchRows || last === undefined ? null : JSON.stringify(last.key)
  await sql`update discovered_fields set fill_after = ${typedParameter(context.kind, 'text', reached)}
    where stream = ${position.stream} and path in (select value from ${listParameter(
      context.kind,
      fields.map(({ path }) => path),
    )} as filled)`.execute(trx)
  return true
}

/** Without duplicates, as several projects may have the same field. */
async function columnsAtPosition(
  trx: Db,
  { stream, fill_after }: Pick<UnfilledColumn, 'stream' | 'fill_after'>,
): Promise<UnfilledColumn[]> {
  const { rows } = await sql<UnfilledColumn>`
    select distinct stream, path, column_name, type, fill_after from discovered_fields
    where stream = ${stream} and fill_after = ${fill_after} and column_name is not null`.execute(trx)
  return [...new Map(rows.map((field) => [field.column_name, field])).values()]
}

/** Columns that one statement sets. */
const maxColumnsPerUpdate = 200

async function backfillRow(
  context: ProjectContext,
  trx: Db,
  table: MirroredTable,
  fields: readonly UnfilledColumn[],
  row: { readonly key: RowKey; readonly raw: string },
): Promise<void> {
  const item = parseJson(decodeJson(context.kind, row.raw))
  const assignments = fields.flatMap(({ path, type, column_name }) => {
    const extra = fieldAtPath(item, decodeText(path))
    if (extra === undefined || extra.value === null) return []
    const column = columnTypeOf[type as FieldType]
    const value = createValueEncoder(column, context.kind, { escaped: 0 })(extra.value)
    return [sql`${sql.ref(column_name)} = ${typedParameter(context.kind, column, value)}`]
  })
  const parameters = keyParameters(context.kind, table, tables[table].key, row.key)
  const keyConditions = tables[table].key.map((name, i) => sql`${sql.ref(name)} = ${parameters[i]}`)
  for (let n = 0; n < assignments.length; n += maxColumnsPerUpdate) {
    await sql`update ${sql.table(table)} set ${sql.join(assignments.slice(n, n + maxColumnsPerUpdate))}
      where ${sql.join(keyConditions, sql` and `)}`.execute(trx)
  }
}
