/** All that a warehouse stores, as it is in its files, to be searched for texts. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Run } from '../../schema/create-missing.ts'
import type { DatabaseInstance } from '../support/databases.ts'

type Database = Pick<DatabaseInstance, 'kind' | 'url'>

/** The file and those beside it; in Postgres tables, indexes, long values and statistics. */
export async function readStoredBytes({ kind, url }: Database, query: Run): Promise<Buffer> {
  if (kind === 'sqlite') {
    const path = url.slice('sqlite:'.length)
    const names = readdirSync(dirname(path)).filter((name) => name.startsWith(basename(path)))
    return Buffer.concat(names.map((name) => readFileSync(join(dirname(path), name))))
  }
  await query('checkpoint')
  const files = await query(`
    select pg_read_binary_file(pg_relation_filepath(oid)) as bytes from pg_class
    where relnamespace = cast(current_schema() as regnamespace) and relkind in ('r', 'i', 't')`)
  const statistics = await query(`
    select convert_to(cast(s as text), 'UTF8') as bytes from pg_stats s
    where schemaname = current_schema()`)
  return Buffer.concat([...files, ...statistics].map(({ bytes }) => bytes as Buffer))
}
