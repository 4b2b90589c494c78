/** A dot within the name of a field is escaped, so that no nested field shares its column. Columns keep their names. */
import { findPath } from '../../src/values/field-path.ts'
import { tryParseJson } from '../../src/values/json.ts'
import type { Run } from '../create-missing.ts'
import { type StreamName, streamSpecs } from '../stream-specs.ts'

const quote = (text: unknown) => `'${String(text).replaceAll("'", "''")}'`

export async function escapeFieldPaths(run: Run): Promise<void> {
  const fields = await run(`select distinct stream, path, column_name as "column" from discovered_fields
    where column_name is not null and path like '%.%'`)
  for (const { stream, path, column } of fields) {
    const [stored] = await run(`select cast(raw as text) as raw from ${streamSpecs[stream as StreamName].table}
      where "${String(column).replaceAll('"', '""')}" is not null limit 1`)
    const escaped = findPath(tryParseJson(String(stored?.raw ?? '')) ?? null, String(path))
    if (escaped === undefined || escaped === path) continue
    const ofStream = `stream = ${quote(stream)} and path =`
    await run(`update discovered_fields set path = ${quote(escaped)} where ${ofStream} ${quote(path)}
      and not exists (select 1 from discovered_fields as other where other.${ofStream} ${quote(escaped)})`)
  }
}
