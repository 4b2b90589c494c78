/** Remembers that values did not fit their column. All columns are filled from `raw` once more, as earlier ones were lost. */
import { type Kysely, sql } from 'kysely'

export async function neededTypes(db: Kysely<unknown>): Promise<void> {
  await sql`alter table discovered_fields add column needed_type text`.execute(db)
  await sql`update discovered_fields set fill_after = '' where column_name is not null`.execute(db)
}
