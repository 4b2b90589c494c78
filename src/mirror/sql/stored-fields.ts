/** Which fields stored rows have: also those whose values may not be stored, which they show. */
import { sql } from 'kysely'
import { type StreamName, streamSpecs } from '../../../schema/stream-specs.ts'
import { parseJson } from '../../values/json.ts'
import { createColumnRules } from '../../values/private-columns.ts'
import { decodeJson } from '../../warehouse/escape.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { RowKey } from '../core/mirror.ts'
import { readRowsAfterKey } from './reader.ts'
import { streamTables } from './stream-tables.ts'

const batchRows = 1000

/** Those of the fields that a row has. Reads no further than until all are found. */
export async function findStoredFields(
  { db, kind, project }: ProjectDb,
  stream: StreamName,
  paths: readonly string[],
): Promise<readonly string[]> {
  const fields = paths.map((path) => {
    return { path, rules: createColumnRules([{ stream, path, action: 'block' }], null) }
  })
  const missing = () => fields.filter(({ rules }) => rules.matched.size === 0)
  let after: RowKey | null = null
  let isLast = false
  while (!isLast && missing().length > 0) {
    const batch: Awaited<ReturnType<typeof readRowsAfterKey>> = await readRowsAfterKey(db, kind, {
      table: streamSpecs[stream].table,
      columns: streamTables[stream].key,
      where: sql`project_id = ${project} and raw is not null`,
      after,
      limit: batchRows,
    })
    for (const { raw } of batch) {
      const item = parseJson(decodeJson(kind, raw))
      for (const { rules } of missing()) rules.keepStored(stream, item)
    }
    isLast = batch.length < batchRows
    after = batch.at(-1)?.key ?? null
  }
  return fields.filter(({ rules }) => rules.matched.size > 0).map(({ path }) => path)
}
