/**
 * The statement is the query of a cursor, in a read-only transaction under a role that may not
 * write at all. The protocol refuses a second statement, a cursor any that changes something, and
 * the answer is fetched in steps.
 */
import { Socket } from 'node:net'
import pg from 'pg'
import type { Ms } from '../values/time.ts'
import { UserError } from '../values/user-error.ts'
import {
  type AnswerReader,
  answerLimits,
  type BoundedQuery,
  compareNames,
  createRowCollector,
  refusedStatement,
  tooLong,
} from './bounded-answer.ts'
import { explainOpenError } from './explain-error.ts'
import { PostgresClient, splitPostgresUrl, valueTypes } from './postgres.ts'

const { BOOL, INT2, INT4, INT8, FLOAT4, FLOAT8, NUMERIC, TIMESTAMPTZ } = pg.types.builtins
const parsed: readonly number[] = [BOOL, INT2, INT4, INT8, FLOAT4, FLOAT8, TIMESTAMPTZ]

/** A whole part that would be rounded stays a text, with all its digits. */
function parseNumeric(text: string): number | string {
  const value = Number(text)
  return Number.isSafeInteger(Math.trunc(value)) ? value : text
}

/** Local times, intervals and arrays are as Postgres writes them: JSON has no such thing. */
const types = {
  getTypeParser: (oid: number) => {
    if (oid === NUMERIC) return parseNumeric
    return parsed.includes(oid) ? valueTypes.getTypeParser(oid) : (text: string) => text
  },
}

export function openBoundedPostgres(
  url: string,
  setting: string,
  limitMs: Ms,
  reader: AnswerReader,
): BoundedQuery {
  const { connectionString, schema } = splitPostgresUrl(url)
  const run: BoundedQuery['run'] = async (statement) => {
    const socket = new Socket()
    const config = {
      connectionString,
      types,
      stream: () => socket,
      application_name: 'deskmirror mcp',
    }
    const client = new PostgresClient(config)
    client.on('error', () => {})
    const { promise: ended, reject: end } = Promise.withResolvers<never>()
    const deadline = setTimeout(() => end(tooLong(limitMs)), limitMs)
    const { received } = answerLimits[reader]
    // With TLS the socket has no event for what arrives.
    const sizeCheck = setInterval(
      () => socket.bytesRead > received * 2 ** 20 && end(tooLarge(reader)),
      20,
    )
    const answer = async () => {
      await client.connect().catch((error: unknown) => {
        throw explainOpenError({ kind: 'postgres', url, setting }, error)
      })
      await client.query(settingsOf(schema, limitMs))
      // A person who exports has these rights already, and the transaction only reads.
      if (reader === 'assistant') await refuseWriter(client, setting)
      return fetchRows(client, statement, limitMs, reader)
    }
    try {
      return await Promise.race([ended, answer().finally(() => client.end())])
    } catch (error) {
      throw explainFailure(error, limitMs)
    } finally {
      clearTimeout(deadline)
      clearInterval(sizeCheck)
      socket.destroy()
    }
  }
  return { run, close: async () => {} }
}

function tooLarge(reader: AnswerReader): UserError {
  const what = reader === 'assistant' ? 'a row of it is' : 'its rows are'
  const why = `${what} larger than ${answerLimits[reader].received} MB`
  return refusedStatement(why, 'read fewer columns, or left(content, 500)')
}

/** In the transaction, as a pooler accepts none for a connection. */
function settingsOf(schema: string | null, limitMs: Ms): string {
  return `begin transaction isolation level repeatable read read only;
    set local statement_timeout = ${limitMs}; set local lock_timeout = ${limitMs};
    set local idle_in_transaction_session_timeout = ${limitMs};
    set local timezone = 'UTC'; set local datestyle = 'ISO'; set local standard_conforming_strings =
    on;
    ${schema === null ? '' : `set local search_path = ${pg.escapeIdentifier(schema)}`}`
}

/** What this role, or one that it can become, could change. By the grants (0: to all). */
const mayWrite = `
  with member as (select oid, rolname, rolsuper from pg_roles
  where pg_has_role(current_user, oid, 'member')),
    relation as (select oid, relowner, relacl from pg_class where relkind in ('r', 'v', 'm', 'f',
    'p')
      and relnamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)),
    granted as (select relacl as acl from relation
      union all select attacl from pg_attribute where attacl is not null and attrelid in (select oid
      from relation)),
    writer as (select relowner as role from relation
      union all select grantee from granted, aclexplode(acl) where privilege_type in ('INSERT',
      'UPDATE', 'DELETE', 'TRUNCATE'))
  select case
    when bool_or(rolsuper) then 'is or can become a superuser'
    when bool_or(rolname in ('pg_write_all_data', 'pg_read_server_files', 'pg_write_server_files',
    'pg_execute_server_program'))
      then 'has a role of the server that writes, reads files or runs programs'
    when bool_or(has_schema_privilege(oid, current_schema(), 'create'))
    then 'may create objects in its schema'
    when bool_or(exists (select 1 from writer where writer.role in (member.oid, 0)))
    then 'may write to tables'
  end as why, current_user as role from member`

async function refuseWriter(client: pg.Client, setting: string): Promise<void> {
  const { rows } = await client.query<{ why: string | null; role: string }>(mayWrite)
  const [{ why, role } = { why: 'is not known', role: '' }] = rows
  if (why === null) return
  throw new UserError({
    what: 'there is no query here yet',
    why:
      `the role ${role} of ${setting} ${why}, and a statement of an ` +
      'assistant runs only under one that reads',
    next:
      "as a person: create role assistant login password '…'; deskmirror migrate --grant " +
      'assistant; and name it in DESKMIRROR_ANALYST_DATABASE_URL',
  })
}

/** Twice as many rows each time. The time limit is set anew, as a statement could lift it. */
async function fetchRows(client: pg.Client, statement: string, limitMs: Ms, reader: AnswerReader) {
  const collector = createRowCollector(reader)
  // With parameters the protocol is the extended one, which takes one statement.
  const text = `declare answer no scroll cursor for ${statement}`
  await client.query({ text, values: [], queryMode: 'extended' } as pg.QueryConfig)
  for (let step = 1; ; step = Math.min(128, 2 * step)) {
    await client.query(`set local statement_timeout = ${limitMs}`)
    const { rows, fields } = await client.query<unknown[]>({
      text: `fetch ${step} from answer`,
      rowMode: 'array',
    })
    const isFull = !rows.every((row) => collector.add(row))
    if (isFull || rows.length < step) return collector.answer(fields.map(({ name }) => name))
  }
}

function explainFailure(error: unknown, limitMs: Ms): unknown {
  if (!(error instanceof pg.DatabaseError)) return error
  const { code = '', message } = error
  if (code === '57014') return tooLong(limitMs)
  if (code === '55P03')
    return refusedStatement('another process holds a lock that it needs', 'try again')
  if (code === '42501')
    return refusedStatement(
      `${message}: its role reads what is for analysts`,
      'docs/reference/analytics-objects.md and `describe` list that',
    )
  const isNoQuery = code === '25006' || /cursor|multiple commands/i.test(message)
  return refusedStatement(message, isNoQuery ? undefined : compareNames)
}
