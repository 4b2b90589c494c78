/**
 * The triggers of the write-backs. On Postgres they name every object with its schema, so that a user who may insert a
 * row cannot substitute tables of their own. On both databases they look up by key what the mirror shows, and reset the
 * columns that only deskmirror may set.
 */
import { type Kysely, sql } from 'kysely'
import type { DatabaseKind } from '../column-types.ts'

export async function triggerRights(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const statements = kind === 'sqlite' ? inSqlite() : inPostgres(await schemaOf(db))
  for (const statement of statements) await sql.raw(statement).execute(db)
}

/** The schema of the tables, which need not be the first of the search path; quoted if necessary. */
export async function schemaOf(db: Kysely<unknown>): Promise<string> {
  const { rows } = await sql<{ schema: string }>`
    select pg_catalog.quote_ident(nspname) as schema from pg_catalog.pg_class
    join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace
    where pg_class.oid = pg_catalog.to_regclass('writebacks')`.execute(db)
  const [found] = rows
  if (found === undefined) throw new Error('there is no table writebacks')
  return found.schema
}

const laneOf = (row: string, lower: string) => `case when ${row}operation in ('message','handled')
  then 'conversation/' || ${lower}(${row}conversation_id) else 'visitor/' || ${lower}(${row}visitor_id) end`

/** Columns that only deskmirror may set: how often a row was sent, which process has claimed it, and its outcome. */
const reserved = {
  attempts: '0',
  epoch: '0',
  owner: 'null',
  lease_until: 'null',
  sent_at: 'null',
  finished_at: 'null',
  request_id: 'null',
  error: 'null',
  evidence: 'null',
  message_id: 'null',
} as const

function inSqlite(): string[] {
  /** A row without a project belongs to the single project. */
  const shown = (object: string, table: string, target: string) => `(select ${object} from ${table}
    where project_id = case when new.project_id <> '' then new.project_id else (select min(project_id) from ${table}) end
      and id = new.${target} and deleted_at is null)`
  const seen = `case when new.operation in ('message','handled')
    then ${shown("json_object('last_message_at', last_message_at)", 'conversations', 'conversation_id')}
    else ${shown("json_object('name', name, 'email', email)", 'visitors', 'visitor_id')} end`
  const resets = Object.entries(reserved).map(([column, value]) => `${column} = ${value}`)
  return [
    'drop trigger writebacks_begun',
    `create trigger writebacks_begun after insert on writebacks begin
      update writebacks set lane = ${laneOf('new.', 'lower')}, ref = coalesce(new.ref, new.id), seen = ${seen},
        seq = (select coalesce(max(seq), 0) + 1 from writebacks), ${resets.join(', ')}
        where project_id = new.project_id and id = new.id;
      insert into writeback_events (project_id, writeback_id, from_status, to_status, detail)
        values (new.project_id, new.id, null, new.status, new.step); end`,
    `create trigger writebacks_named after update of project_id on writebacks
      when old.project_id = '' and new.seen is null begin
      update writebacks set seen = ${seen} where project_id = new.project_id and id = new.id; end`,
  ]
}

function inPostgres(schema: string): string[] {
  // Within an SQL string.
  const named = (relation: string) => `'${`${schema}.${relation}`.replaceAll("'", "''")}'::pg_catalog.regclass`
  const functions: Readonly<Record<string, { readonly definer: boolean; readonly declare?: string; body: string }>> = {
    writebacks_begin: { definer: true, declare: 'inserter text;', body: begin(schema, named) },
    writebacks_named: { definer: true, body: `new.seen := ${seenInPostgres(schema)}; return new;` },
    writebacks_begun: {
      definer: true,
      body: `insert into ${schema}.writeback_events (project_id, writeback_id, from_status, to_status, detail)
        values (new.project_id, new.id, null, new.status, new.step); return null;`,
    },
    writebacks_stepped: {
      definer: true,
      body: `insert into ${schema}.writeback_events (project_id, writeback_id, from_status, to_status, detail, request_id)
        values (new.project_id, new.id, old.status, new.status, new.step, new.request_id); return null;`,
    },
    writebacks_arrived: { definer: false, body: refuse('a write-back that has arrived stays so') },
    writebacks_changed: {
      definer: false,
      body: `new.lane := ${laneOf('new.', 'pg_catalog.lower')}; new.epoch := old.epoch + 1; return new;`,
    },
    writeback_events_kept: { definer: false, body: refuse('the log of write-backs is only ever added to') },
  }
  return [
    ...Object.entries(functions).flatMap(([name, { definer, declare = '', body }]) => [
      `create or replace function ${schema}.${name}() returns trigger language plpgsql
        security ${definer ? 'definer' : 'invoker'} set search_path = pg_catalog, pg_temp
        as '${`${declare === '' ? '' : `declare ${declare} `}begin ${body} end`.replaceAll("'", "''")}'`,
      // A user who may execute a function could make it a trigger of their own table, and so write to the log as its
      // owner.
      `revoke all on function ${schema}.${name}() from public`,
    ]),
    `create trigger writebacks_named before update of project_id on ${schema}.writebacks for each row
      when (old.project_id = '' and new.seen is null) execute function ${schema}.writebacks_named()`,
    `create trigger events_never_emptied before truncate on ${schema}.writeback_events for each statement
      execute function ${schema}.writeback_events_kept()`,
  ]
}

function refuse(why: string): string {
  return `raise exception '${why}' using errcode = 'check_violation';`
}

/** A user who may only insert is recorded as the inserter, whatever the row says. */
function begin(schema: string, named: (relation: string) => string): string {
  const resets = Object.entries(reserved).map(([column, value]) => `new.${column} := ${value};`)
  return `if new.status not in ('draft','queued') then
      ${refuse('a write-back begins as queued or as draft')} end if;
    inserter := pg_catalog.current_setting('role');
    if inserter = 'none' then inserter := session_user; end if;
    if not pg_catalog.has_any_column_privilege(inserter::pg_catalog.name, tg_relid, 'update') then
      new.created_by := pg_catalog.concat(new.created_by || ' via ', inserter); end if;
    ${resets.join(' ')}
    new.seq := pg_catalog.nextval(${named('writebacks_seq')}); new.ref := coalesce(new.ref, new.id);
    new.lane := ${laneOf('new.', 'pg_catalog.lower')}; new.seen := ${seenInPostgres(schema)}; return new;`
}

/**
 * Reads the row of that key, or the next one, which is then discarded: only the primary key has this order. With a
 * condition of equality, a planner without statistics may take any index that starts with the project, and read all of
 * it.
 */
function seenInPostgres(schema: string): string {
  const shown = (object: string, table: string, target: string) => `(select ${object} from
    (select case when new.project_id <> '' then new.project_id
      else (select project_id from ${schema}.${table} order by project_id, id limit 1) end) own (project)
    cross join lateral (select * from ${schema}.${table} where (project_id, id) >= (own.project, new.${target})
      order by project_id, id limit 1) mirrored
    where mirrored.project_id = own.project and mirrored.id = new.${target} and mirrored.deleted_at is null)`
  const at = `pg_catalog.to_char(mirrored.last_message_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
  return `case when new.operation in ('message','handled')
    then ${shown(`pg_catalog.jsonb_build_object('last_message_at', ${at})`, 'conversations', 'conversation_id')}
    else ${shown("pg_catalog.jsonb_build_object('name', mirrored.name, 'email', mirrored.email)", 'visitors', 'visitor_id')} end`
}
