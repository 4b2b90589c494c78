/** Makes the triggers of write-backs and logs, and those that store nothing of an erased person. */
import type { DatabaseKind } from './column-types.ts'
import { type Run, schemaOf } from './create-missing.ts'
import { erasedTables } from './mirror-tables.ts'
import { namesErased, storedSettings } from './row-owners.ts'
import {
  eachRow,
  eachStatement,
  type PostgresTrigger,
  refuse,
  writebackTriggersInPostgres,
} from './writeback-triggers-postgres.ts'
import { type SqliteTriggers, writebackTriggersInSqlite } from './writeback-triggers-sqlite.ts'

const auditLogKept = 'the audit log is only ever added to'

export async function replaceTriggers(run: Run, kind: DatabaseKind): Promise<void> {
  if (kind === 'sqlite') await replaceInSqlite(run)
  else await replaceInPostgres(run)
}

/** Those that `replaceTriggers` makes. */
export function triggerNames(kind: DatabaseKind): readonly string[] {
  if (kind === 'sqlite') return Object.keys(triggersInSqlite())
  return Object.keys(triggersInPostgres(''))
}

async function replaceInSqlite(run: Run): Promise<void> {
  for (const [name, [when, does]] of Object.entries(triggersInSqlite())) {
    await run(`drop trigger if exists ${name}`)
    await run(`create trigger ${name} ${when} begin ${does}; end`)
  }
}

function triggersInSqlite(): SqliteTriggers {
  return {
    ...writebackTriggersInSqlite(),
    console_events_kept: [
      'before update on console_events',
      `select raise(abort, '${auditLogKept}')`,
    ],
    console_events_never_deleted: [
      `before delete on console_events when old.at > strftime('%Y-%m-%dT%H:%M:%SZ', 'now',
        '-90 days')`,
      `select raise(abort, '${auditLogKept}')`,
    ],
    ...Object.fromEntries(
      Object.keys(erasedTables).map((table) => [
        `${table}_erased`,
        [
          `before insert on ${table} when ${namesErased('sqlite', table, storedSettings('new'))}`,
          'select raise(ignore)',
        ],
      ]),
    ),
  }
}

async function replaceInPostgres(run: Run): Promise<void> {
  const schema = await schemaOf(run)
  const triggers = Object.entries(triggersInPostgres(schema))
  const functions = new Map(triggers.map(([name, { calls = name, does }]) => [calls, does]))
  for (const [name, body] of functions) {
    const text = body.startsWith('declare') ? body : `begin ${body} end`
    // Inserting requires no other right, whatever the search path of the inserter is.
    await run(`create or replace function ${schema}.${name}() returns trigger language plpgsql
      security definer
      set search_path = pg_catalog, pg_temp as '${text.replaceAll("'", "''")}'`)
    // A user who may execute one could make it a trigger of their table, and write as its owner.
    await run(`revoke all on function ${schema}.${name}() from public`)
  }
  for (const [name, { event, on, each, calls }] of triggers) {
    await run(`drop trigger if exists ${name} on ${on}`)
    await run(
      `create trigger ${name} ${event} on ${on} ${each} execute function
        ${schema}.${calls ?? name}()`,
    )
  }
  // They double the time of an insert, so they are enabled when a person is first erased.
  const [erased] = await run(`select 1 from erased_ids where project_id <> '' limit 1`)
  for (const table of erased === undefined ? Object.keys(erasedTables) : [])
    await run(`alter table ${schema}.${table} disable trigger ${table}_erased`)
}

function triggersInPostgres(schema: string): Readonly<Record<string, PostgresTrigger>> {
  const source = storedSettings('new', `${schema}.call_fields`)
  const isErased = (table: string) => namesErased('postgres', table, source, `${schema}.erased_ids`)
  const events = `${schema}.console_events`
  const kept = refuse(auditLogKept)
  const isYoung = "old.at > now() - interval '90 days'"
  return {
    ...writebackTriggersInPostgres(schema),
    console_events_kept: eachRow('before update', events, kept),
    console_events_never_emptied: {
      ...eachStatement('before truncate', events, kept),
      calls: 'console_events_kept',
    },
    console_events_never_deleted: {
      ...eachRow('before delete', events, kept, isYoung),
      calls: 'console_events_kept',
    },
    ...Object.fromEntries(
      Object.keys(erasedTables).map((table) => [
        `${table}_erased`,
        eachRow(
          'before insert',
          `${schema}.${table}`,
          `if ${isErased(table)} then return null; end if; return new;`,
        ),
      ]),
    ),
  }
}
