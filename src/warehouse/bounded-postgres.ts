/**
 * The statement is the query of a cursor, in a read-only transaction on a connection of its own, under a role that may not write
 * at all. The protocol refuses a second statement, a cursor any that changes something, and the answer is fetched in
 * steps, so that no more of it arrives than is kept.
 */
import { Socket } from 'node:net'
import pg from 'pg'
import { UserError } from '../values/user-error.ts'
import {
  type BoundedAnswer,
  type BoundedQuery,
  compareNames,
  createRowCollector,
  type QueryLimits,
  refusedStatement,
  tooLong,
} from './bounded-answer.ts'
import { explainOpenError } from './explain-error.ts'
import { splitPostgresUrl, valueTypes } from './postgres.ts'

/** A single row arrives as a whole. */
const maxReceivedBytes = 16 * 2 ** 20

const { BOOL, INT2, INT4, INT8, FLOAT4, FLOAT8, NUMERIC, TIMESTAMPTZ } = pg.types.builtins
const parsed: readonly number[] = [BOOL, INT2, INT4, INT8, FLOAT4, FLOAT8, NUMERIC, TIMESTAMPTZ]

/** Other values, such as local times, intervals and arrays, are as Postgres writes them: JSON has no such thing. */
const types = {
  getTypeParser: (oid: number) => (parsed.includes(oid) ? valueTypes.getTypeParser(oid) : (text: string) => text),
}

export function openBoundedPostgres(url: string, setting: string, limits: QueryLimits): BoundedQuery {
  const { connectionString, schema } = splitPostgresUrl(url)
  const location = { kind: 'postgres', url, setting } as const
  const run = async (statement: string): Promise<BoundedAnswer> => {
    const socket = new Socket()
    let ended: UserError | null = null
    const end = (why: UserError) => {
      ended ??= why
      socket.destroy()
    }
    socket.on('data', () => {
      if (socket.bytesRead > maxReceivedBytes) end(tooLarge)
    })
    const deadline = setTimeout(() => end(tooLong(limits)), limits.ms)
    const client = new pg.Client({
      ...{ connectionString, stream: () => socket, types, connectionTimeoutMillis: limits.ms },
      application_name: 'deskmirror mcp',
    })
    client.on('error', () => {})
    try {
      await client.connect().catch((error: unknown) => {
        throw explainOpenError(location, error)
      })
      await client.query(settingsOf(schema, limits))
      await refuseWriter(client, setting)
      return await fetchRows(client, statement, limits)
    } catch (error) {
      throw ended ?? explainFailure(error, limits)
    } finally {
      await client.end().catch(() => {})
      clearTimeout(deadline)
      socket.destroy()
    }
  }
  return { run, close: async () => {} }
}

const tooLarge = refusedStatement(
  'a row of it is larger than 16 MB',
  'read fewer columns, or the beginning of texts: left(content, 500)',
)

/** In the transaction, as a pooler accepts none for a connection. */
function settingsOf(schema: string | null, { ms }: QueryLimits): string {
  const path = schema === null ? [] : [`set local search_path = ${pg.escapeIdentifier(schema)}`]
  const timeouts = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']
  return [
    'begin transaction isolation level repeatable read read only',
    ...timeouts.map((name) => `set local ${name} = ${ms}`),
    "set local timezone = 'UTC'; set local datestyle = 'ISO'; set local standard_conforming_strings = on",
    ...path,
  ].join('; ')
}

/** Every role that this one is or can become, and what it could change; beyond a read-only transaction, which it could leave on another connection. */
const mayWrite = `
  with member as (select oid, rolname, rolsuper from pg_roles where pg_has_role(current_user, oid, 'member'))
  select case
    when bool_or(rolsuper) then 'is or can become a superuser'
    when bool_or(rolname in ('pg_write_all_data', 'pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program'))
      then 'has a role of the server that writes, reads files or runs programs'
    when bool_or(has_schema_privilege(member.oid, current_schema(), 'create')) then 'may create objects in its schema'
    when bool_or(exists (select 1 from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'v', 'm', 'f', 'p') and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg_toast%'
        and (has_table_privilege(member.oid, c.oid, 'insert, update, delete, truncate')
          or has_any_column_privilege(member.oid, c.oid, 'insert, update')))) then 'may write to tables'
  end as why, current_user as role from member`

async function refuseWriter(client: pg.Client, setting: string): Promise<void> {
  const { rows } = await client.query<{ why: string | null; role: string }>(mayWrite)
  const [{ why, role } = { why: 'is not known', role: '' }] = rows
  if (why === null) return
  throw new UserError({
    what: 'there is no query here yet',
    why: `the role ${role} of ${setting} ${why}, and a statement of an assistant runs only under one that reads`,
    next: "as a person: create role assistant login password '…'; deskmirror migrate --grant assistant; and name it in DESKMIRROR_ANALYST_DATABASE_URL",
    exitCode: 2,
  })
}

/** Twice as many rows each time, so that little arrives that is not kept. The time limit is set anew, as a statement could lift it. */
async function fetchRows(client: pg.Client, statement: string, limits: QueryLimits): Promise<BoundedAnswer> {
  const collector = createRowCollector(limits)
  // With parameters the protocol is the extended one, which takes one statement.
  const text = `declare answer no scroll cursor for ${statement}`
  await client.query({ text, values: [], queryMode: 'extended' } as pg.QueryConfig)
  for (let step = 1; ; step = Math.min(128, 2 * step)) {
    await client.query(`set local statement_timeout = ${limits.ms}`)
    const { rows, fields } = await client.query<unknown[]>({ text: `fetch ${step} from answer`, rowMode: 'array' })
    const isFull = !rows.every((row) => collector.add(row))
    if (isFull || rows.length < step) return collector.answer(fields.map(({ name }) => name))
  }
}

function explainFailure(error: unknown, limits: QueryLimits): unknown {
  if (!(error instanceof pg.DatabaseError)) return error
  const { code = '', message } = error
  if (code === '57014') return tooLong(limits)
  if (code === '55P03') return refusedStatement('another process holds a lock that it needs', 'try again')
  if (code === '42501')
    return refusedStatement(`${message}: its role reads what is for analysts`, '`describe` lists that')
  const isNoQuery = code === '25006' || /cursor|multiple commands/i.test(message)
  return refusedStatement(message, isNoQuery ? undefined : compareNames)
}
