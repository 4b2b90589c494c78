/** The day and the time zone of each rollup. Existing rows get both with the next sync, which knows the zone. */
import { type Kysely, sql } from 'kysely'
import { type DatabaseKind, sqlTypes } from '../column-types.ts'

export async function rollupDays(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const { date, text } = sqlTypes[kind]
  for (const table of ['analytics_rollups', 'analytics_metrics']) {
    await sql.raw(`alter table ${table} add column day ${date}`).execute(db)
    await sql.raw(`alter table ${table} add column time_zone ${text}`).execute(db)
  }
  await sql.raw('update analytics_rollups set read_at = synced_at where read_at is null').execute(db)
}
