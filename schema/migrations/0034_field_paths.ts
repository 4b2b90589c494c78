/** A dot within the name of a field is escaped, so that no nested field shares its column. Columns keep their names. */
import { type Kysely, sql } from 'kysely'
import { findPath } from '../../src/values/field-path.ts'
import { tryParseJson } from '../../src/values/json.ts'
import { type StreamName, streamSpecs } from '../stream-specs.ts'

type Field = { readonly stream: StreamName; readonly path: string; readonly column: string }

export async function fieldPaths(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<Field>`
    select distinct stream, path, column_name as "column" from discovered_fields
    where column_name is not null and path like '%.%'`.execute(db)
  for (const { stream, path, column } of rows) {
    const stored = await sql<{ raw: string }>`
      select cast(raw as text) as raw from ${sql.table(streamSpecs[stream].table)}
      where ${sql.ref(column)} is not null limit 1`.execute(db)
    const escaped = findPath(tryParseJson(stored.rows[0]?.raw ?? '') ?? null, path)
    if (escaped === undefined || escaped === path) continue
    await sql`
      update discovered_fields set path = ${escaped} where stream = ${stream} and path = ${path} and not exists (
        select 1 from discovered_fields as other where other.stream = ${stream} and other.path = ${escaped})`.execute(
      db,
    )
  }
}
