/**
 * An approval is of what was shown: a write-back that is changed afterwards, by whomever, waits for another one, and one that
 * may have left can no longer be changed.
 */
import { type Kysely, sql } from 'kysely'
import type { DatabaseKind } from '../column-types.ts'
import { schemaOf } from './0005_trigger_rights.ts'

export async function changedApprovals(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  for (const statement of kind === 'sqlite' ? inSqlite : inPostgres(await schemaOf(db)))
    await sql.raw(statement).execute(db)
}

const request = ['operation', 'conversation_id', 'visitor_id', 'payload']
const conditions = ['expect', 'expires_at']
const why = 'changed after its approval'
const refusal = 'an approved write-back that may have left stays as it was sent'

function differ(names: readonly string[], differs: string): string {
  return `(${names.map((name) => `new.${name} ${differs} old.${name}`).join(' or ')})`
}

/** A retry changes `expect` and `expires_at`, too, but of a row that is not queued. */
function isChanged(differs: string): string {
  return `new.approved_by is not null and new.erased_at is null and new.status <> 'succeeded'
    and (${differ(request, differs)}
      or (old.status = 'queued' and new.status = 'queued' and ${differ(conditions, differs)}))`
}

const inSqlite = [
  `create trigger writebacks_left before update of ${request.join(', ')} on writebacks
    when old.status = 'sending' and old.approved_by is not null and ${differ(request, 'is not')} begin select raise(abort, '${refusal}'); end`,
  `create trigger writebacks_disapproved after update of ${[...request, ...conditions].join(', ')} on writebacks
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
  const functions = {
    writebacks_left: `raise exception '${refusal}' using errcode = 'check_violation';`,
    writebacks_disapproved: body,
  }
  const trigger = (name: keyof typeof functions, columns: readonly string[], condition: string) =>
    `create trigger ${name} before update of ${columns.join(', ')} on ${schema}.writebacks for each row
      when (${condition}) execute function ${schema}.${name}()`
  const differs = 'is distinct from'
  return [
    ...Object.entries(functions).flatMap(([name, text]) => [
      `create function ${schema}.${name}() returns trigger language plpgsql security definer
        set search_path = pg_catalog, pg_temp as '${`begin ${text} end`.replaceAll("'", "''")}'`,
      `revoke all on function ${schema}.${name}() from public`,
    ]),
    trigger(
      'writebacks_left',
      request,
      `old.status = 'sending' and old.approved_by is not null and ${differ(request, differs)}`,
    ),
    trigger('writebacks_disapproved', [...request, ...conditions], isChanged(differs)),
  ]
}
