/** For `status`: how many rows a stream had when they were last counted. */
import { type Kysely, sql } from 'kysely'
import { type DatabaseKind, sqlTypes } from '../column-types.ts'

export async function rowCounts(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const { integer, time } = sqlTypes[kind]
  for (const column of [`counted_rows ${integer}`, `counted_at ${time}`])
    await sql.raw(`alter table sync_streams add column ${column}`).execute(db)
}
