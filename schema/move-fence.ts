/**
 * Triggers that refuse every change of what has moved away, or has not arrived, whoever makes it.
 * A warehouse has them only while `sync_moves` names such a project. Reading goes on.
 */
import type { DatabaseKind, TableSpec } from './column-types.ts'
import { type Run, schemaOf } from './create-missing.ts'
import { hasProject, movedTables } from './moved-tables.ts'

/** How the message of the database begins. */
export const fenceMessage = 'this project has moved to another database, or is arriving from one'

const events = ['insert', 'update', 'delete'] as const
/** A warehouse without it is not asked for its moves. */
export const fenceTrigger = 'writebacks_fence_insert'

const nameOf = (table: string, event: string) => `${table}_fence_${event}`
/** In `sync_moves`. */
export const fencedStates: readonly string[] = ['arriving', 'moved']
const fenced = `state in (${fencedStates.map((state) => `'${state}'`).join(',')})`

/** Nothing is dropped first: in Postgres that would wait for whoever reads. */
export async function updateFence(run: Run, kind: DatabaseKind): Promise<void> {
  const needed = (await run(`select 1 from sync_moves where ${fenced} limit 1`)).length > 0
  const schema = kind === 'sqlite' ? 'main' : await schemaOf(run)
  const found = await run(
    kind === 'sqlite'
      ? `select name from sqlite_master where type = 'trigger'`
      : 'select tgname as name from pg_trigger where tgfoid = ' +
          `to_regproc('${schema.replaceAll("'", "''")}.moves_fence')`,
  )
  const existing = new Set(found.map(({ name }) => String(name)))
  if (needed && kind === 'postgres') await createFunction(run, schema)
  for (const [table, spec] of movedTables)
    for (const event of events) {
      const name = nameOf(table, event)
      if (needed === existing.has(name)) continue
      const on = kind === 'sqlite' ? '' : ` on ${schema}.${table}`
      await run(
        needed ? create[kind]({ table, spec, event, name, schema }) : `drop trigger ${name}${on}`,
      )
    }
  if (!needed && kind === 'postgres') await run(`drop function if exists ${schema}.moves_fence()`)
}

const create: Readonly<
  Record<
    DatabaseKind,
    (trigger: {
      readonly table: string
      readonly spec: TableSpec
      readonly event: (typeof events)[number]
      readonly name: string
      readonly schema: string
    }) => string
  >
> = {
  sqlite: ({ table, spec, event, name }) => {
    const row = event === 'delete' ? 'old' : 'new'
    const project = hasProject(spec) ? `${row}.project_id` : `''`
    return `create trigger ${name} before ${event} on ${table}
      when exists (select 1 from sync_moves where ${fenced} and project_id in ('', ${project}))
      begin select raise(abort, '${fenceMessage}'); end`
  },
  postgres: ({ table, spec, event, name, schema }) =>
    `create trigger ${name} before ${event} on ${schema}.${table} for each row
      execute function ${schema}.moves_fence(${hasProject(spec) ? `'project_id'` : ''})`,
}

async function createFunction(run: Run, schema: string): Promise<void> {
  const body = `declare project text := ''''; begin
    if tg_nargs > 0 then
      if tg_op = ''DELETE'' then project := old.project_id; else project := new.project_id; end if;
    end if;
    if exists (select 1 from ${schema.replaceAll("'", "''")}.sync_moves
      where ${fenced.replaceAll("'", "''")} and project_id in ('''', project)) then
      raise exception ''${fenceMessage}'' using errcode = ''check_violation'';
    end if;
    if tg_op = ''DELETE'' then return old; end if; return new; end`
  await run(`create or replace function ${schema}.moves_fence() returns trigger language plpgsql
    security definer set search_path = pg_catalog, pg_temp as '${body}'`)
  await run(`revoke all on function ${schema}.moves_fence() from public`)
}
