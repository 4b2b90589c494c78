/** An approval is of what was shown: a write-back that is changed afterwards, by whomever, waits for another one. */
import { type Kysely, sql } from 'kysely'
import type { DatabaseKind } from '../column-types.ts'
import { schemaOf } from './0005_trigger_rights.ts'

export async function changedApprovals(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  for (const statement of kind === 'sqlite' ? inSqlite : inPostgres(await schemaOf(db)))
    await sql.raw(statement).execute(db)
}

const columns = ['operation', 'conversation_id', 'visitor_id', 'payload', 'expect', 'expires_at']
const why = 'changed after its approval'

/** Not what is sent just now. A retry changes `expect` and `expires_at`, too, but of a row that is not queued. */
function isChanged(differs: string): string {
  const differ = (names: readonly string[]) => names.map((name) => `new.${name} ${differs} old.${name}`).join(' or ')
  return `new.approved_by is not null and new.erased_at is null and new.status not in ('sending','succeeded')
    and (${differ(columns.slice(0, 4))}
      or (old.status = 'queued' and new.status = 'queued' and (${differ(columns.slice(4))})))`
}

const inSqlite = [
  `create trigger writebacks_disapproved after update of ${columns.join(', ')} on writebacks
    when ${isChanged('is not')} begin
    update writebacks set approved_by = null, undo_until = null, epoch = epoch + 1
      where project_id = new.project_id and id = new.id;
    update writebacks set status = 'draft', due_at = null, step = '${why}'
      where project_id = new.project_id and id = new.id and status = 'queued'; end`,
]

function inPostgres(schema: string): readonly string[] {
  // The trigger that writes the log sees only what the statement of the user names.
  const body = `new.approved_by := null; new.undo_until := null; new.epoch := new.epoch + 1;
    if new.status = 'queued' then
      new.status := 'draft'; new.due_at := null; new.step := '${why}';
      insert into ${schema}.writeback_events (project_id, writeback_id, from_status, to_status, detail)
        values (new.project_id, new.id, old.status, new.status, new.step);
    end if; return new;`
  return [
    `create function ${schema}.writebacks_disapproved() returns trigger language plpgsql security definer
      set search_path = pg_catalog, pg_temp as '${`begin ${body} end`.replaceAll("'", "''")}'`,
    `revoke all on function ${schema}.writebacks_disapproved() from public`,
    `create trigger writebacks_disapproved before update of ${columns.join(', ')} on ${schema}.writebacks for each row
      when (${isChanged('is distinct from')}) execute function ${schema}.writebacks_disapproved()`,
  ]
}
