/** Where calls hold their direction and the agent: settings, as for their other fields. */
import { type Kysely, sql } from 'kysely'

export async function callFields(db: Kysely<unknown>): Promise<void> {
  for (const column of ['direction', 'agent'])
    await sql.raw(`alter table call_fields add column ${column} text`).execute(db)
}
