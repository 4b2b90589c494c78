/**
 * Entries of visitors' activity are identified by their id and their time, no longer by their id alone. Their keys are
 * rewritten afterwards, in batches, and are shorter: processes of an older version, which would store entries under the
 * longer ones a second time, cannot store any.
 */
import { type Kysely, sql } from 'kysely'
import type { DatabaseKind } from '../column-types.ts'
import { schemaOf } from './0005_trigger_rights.ts'

const isOlder = 'length(new.entry_hash) = 64'
const refusal = 'a version of deskmirror before 0019_activity_keys cannot store activity'

export async function activityKeys(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const triggers = kind === 'sqlite' ? inSqlite : inPostgres(await schemaOf(db))
  const rewrite = `insert into sync_rewrites (name, position)
    select 'visitor_activity.entry_hash', '' where exists (select 1 from visitor_activity)`
  // The triggers come first, so that no entry is stored behind the batches.
  for (const statement of [...triggers, rewrite]) await sql.raw(statement).execute(db)
}

/**
 * A constraint, and also `raise` in SQLite, would be a fault of the row, which is then left out. This fails the whole page,
 * which is repeated.
 */
const inSqlite = [
  `create trigger activity_keys before insert on visitor_activity when ${isOlder}
    begin select json_extract('{}', '${refusal}'); end`,
]

function inPostgres(schema: string): string[] {
  return [
    `create function ${schema}.activity_keys() returns trigger language plpgsql set search_path = pg_catalog, pg_temp
      as $$begin raise exception '${refusal}' using errcode = 'object_not_in_prerequisite_state'; end$$`,
    `revoke all on function ${schema}.activity_keys() from public`,
    `create trigger activity_keys before insert on ${schema}.visitor_activity for each row
      when (${isOlder}) execute function ${schema}.activity_keys()`,
  ]
}
