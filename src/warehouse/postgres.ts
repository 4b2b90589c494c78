/** Postgres through a connection pool. Nothing is prepared, as a pooler may be in between. */
import { Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import pRetry from 'p-retry'
import pg from 'pg'
import type { ProjectId } from '../values/project.ts'
import { toTimestamp } from '../values/time.ts'
import { UserError } from '../values/user-error.ts'
import type { ConnectionPool, DbConnection } from './connection-pool.ts'
import { quoteName } from './dialect.ts'
import { chooseSchema, type FoundSchemas, schemaColumns } from './postgres-schema.ts'
import { checkServerIdentity } from './server-identity.ts'

/** `2026-08-21 10:02:11.5+00`, as Postgres writes it, to `2026-08-21T10:02:11Z`. */
export function parsePostgresTime(text: string): string {
  if (text[4] === '-' && text.endsWith('+00')) return `${text.slice(0, 10)}T${text.slice(11, 19)}Z`
  // The session is set to UTC, but a pooler may ignore that.
  const at = Date.parse(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00'))
  if (!Number.isNaN(at)) return toTimestamp(at)
  // `infinity`, and years that RFC 3339 cannot express.
  return /^-|BC$/.test(text) ? '0001-01-01T00:00:00Z' : '9999-12-31T23:59:59Z'
}

/**
 * Compares IPv6 addresses with certificates by what they mean: the driver has no setting for it.
 */
export class PostgresClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config)
    const { connection } = this as unknown as {
      readonly connection: { ssl: boolean | ConnectionOptions }
    }
    if (connection.ssl === false) return
    const settings = connection.ssl === true ? {} : connection.ssl
    settings.checkServerIdentity ??= checkServerIdentity
    connection.ssl = settings
  }
}

/** Integers as numbers, beyond 2^53 as bigints. */
function parsePostgresInteger(text: string): number | bigint {
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : BigInt(text)
}

const { INT8, NUMERIC, JSONB, JSON: JSON_TEXT, DATE, TIMESTAMPTZ } = pg.types.builtins
const valueParsers: Readonly<Record<number, (text: string) => unknown>> = {
  [INT8]: parsePostgresInteger,
  [NUMERIC]: Number,
  [JSONB]: String,
  [JSON_TEXT]: String,
  [DATE]: String,
  [TIMESTAMPTZ]: parsePostgresTime,
}

export const valueTypes = {
  getTypeParser: (oid: number) =>
    valueParsers[oid] ?? ((text: string) => pg.types.getTypeParser(oid)(text)),
}

/**
 * `?schema=NAME` of the URL names a schema. Throws UserError if the database cannot be a warehouse,
 * or has a project in another schema, and the driver's errors if it cannot be reached.
 */
export async function openPostgresPool(
  url: string,
  isWriter = true,
  use: keyof typeof poolLimits = 'work',
  projects: readonly ProjectId[] = [],
): Promise<ConnectionPool> {
  const { connectionString, options, schema } = splitPostgresUrl(url)
  const { max, settings: ofUse } = poolLimits[use]
  const open = (settings: pg.PoolConfig) =>
    openPool({ connectionString, max, ...settings }, (pool) =>
      inspectServer(pool, { schema, isWriter, projects }),
    )
  try {
    return await open({ options: `${options} ${isolation} ${ofUse}`.trim() })
  } catch (error) {
    if (!areOptionsRejected(error)) throw error
  }
  // A pooler (PgBouncer) accepts no settings for a connection.
  return open({})
}

/** Outside of transactions, which name theirs. A role or a database may have another default. */
const isolation = '-c default_transaction_isolation=read\\ committed'

/**
 * For pages few connections, which change nothing and give up instead of loading the server.
 * `settings`: of each connection, unless a pooler accepts none.
 */
const poolLimits = {
  work: { max: 6, settings: '' },
  brief: { max: 2, settings: '-c default_transaction_read_only=on -c statement_timeout=5000' },
  long: { max: 1, settings: '-c default_transaction_read_only=on -c statement_timeout=60000' },
}

async function openPool(
  config: pg.PoolConfig,
  inspect: (pool: pg.Pool) => Promise<void>,
): Promise<ConnectionPool> {
  const sockets = new Set<Socket>()
  const pool = new pg.Pool({
    ...config,
    Client: PostgresClient,
    // What a transaction sends without waiting arrives at once.
    pipeline: true,
    stream: () => {
      const socket = new Socket()
      sockets.add(socket)
      return socket.once('close', () => sockets.delete(socket))
    },
    connectionTimeoutMillis: 15_000,
    keepAlive: true,
    application_name: 'deskmirror',
    types: valueTypes,
  })
  // A broken connection is replaced. Without these listeners it would also end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => void client.on('error', () => {}))
  const close = async () => {
    await pool.end()
    // The pool leaves a connection open that failed while connecting: the process would not end.
    for (const socket of sockets) socket.destroy()
  }
  try {
    await inspect(pool)
    return { kind: 'postgres', acquire: async () => toDbConnection(await pool.connect()), close }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * Removes `schema`, which the server does not know, and `options`, which would replace ours: times
 * as `parsePostgresTime` expects them, and quoted texts as the standard reads them.
 */
export function splitPostgresUrl(url: string) {
  const parsed = new URL(url)
  const schema = parsed.searchParams.get('schema') ?? ''
  const ownOptions = parsed.searchParams.get('options') ?? ''
  for (const name of ['schema', 'options']) parsed.searchParams.delete(name)
  // The driver treats these as verify-full and warns; `uselibpqcompat` asks for weaker checks.
  const isStrict = parsed.searchParams.get('uselibpqcompat') === null
  if (isStrict && /^(prefer|require|verify-ca)$/.test(parsed.searchParams.get('sslmode') ?? ''))
    parsed.searchParams.set('sslmode', 'verify-full')
  const path = schema === '' ? [] : [searchPathOption(schema)]
  const settings = [
    ownOptions,
    '-c timezone=UTC',
    '-c datestyle=ISO',
    '-c standard_conforming_strings=on',
    ...path,
  ]
  return {
    connectionString: parsed.href,
    options: settings.join(' ').trim(),
    schema: schema === '' ? null : schema,
  }
}

/** Within the server's command line, where spaces and backslashes are escaped. */
const searchPathOption = (schema: string): string =>
  `-c search_path=${quoteName(schema).replace(/[\\ ]/g, '\\$&')}`

function toDbConnection(client: pg.PoolClient): DbConnection {
  let hasLostConnection = false
  const run: DbConnection['run'] = async (text, parameters) => {
    try {
      const { rows, rowCount, command } = await client.query(text, parameters as unknown[])
      // The server says no more than this of a statement whose error nobody waited for.
      if (text === 'commit' && command === 'ROLLBACK')
        throw new Error('the transaction was rolled back, as one of its statements failed')
      return { rows, affectedRows: rowCount ?? 0 }
    } catch (error) {
      hasLostConnection ||= isConnectionLost(error)
      throw error
    }
  }
  return { run, release: (broken) => client.release(broken || hasLostConnection) }
}

/** The server ended the connection (class 57P …), or it broke without an error from the server. */
function isConnectionLost(error: unknown): boolean {
  return !(error instanceof pg.DatabaseError) || /^(57P|08|25P0)/.test(error.code ?? '')
}

type ServerSettings = FoundSchemas & {
  readonly encoding: string
  readonly dates: string
  readonly path: string
  readonly user: string
}

/** Class 08P01: `unsupported startup parameter: options`. */
function areOptionsRejected(error: unknown): boolean {
  return (
    error instanceof pg.DatabaseError &&
    error.code === '08P01' &&
    /startup parameter/.test(error.message)
  )
}

/**
 * The encoding, and the settings of a connection. If the URL names no schema, later connections get
 * the one of the warehouse: the search path may lead to another one by then.
 */
async function inspectServer(
  pool: pg.Pool,
  expected: {
    readonly schema: string | null
    readonly isWriter: boolean
    readonly projects: readonly ProjectId[]
  },
): Promise<void> {
  const client = await connectWhenFree(pool)
  /** The schema that this connection has only by the search path of its role. */
  let unpinned: string | null = null
  try {
    const { rows } = await client.query<ServerSettings>(
      `select current_setting('server_encoding') as encoding, current_setting('DateStyle') as dates,
        current_setting('search_path') as path, current_user as user, ${schemaColumns}`,
    )
    const [settings] = rows
    if (settings === undefined) throw new Error('the query returned no row')
    if (expected.isWriter && settings.encoding !== 'UTF8') throw encodingError(settings.encoding)
    rejectLostSettings(settings, expected.schema)
    if (settings.schema === null) await rejectClosedSchema(client, settings)
    if (expected.schema !== null) return
    const schema = await chooseSchema(client, settings, expected.projects)
    const { options } = pool
    if (schema === null || (options.options === undefined && schema === settings.schema)) return
    if (options.options === undefined) throw lostSettings(...lostSchema(schema))
    options.options += ` ${searchPathOption(schema)}`
    unpinned = schema
  } finally {
    client.release(unpinned !== null)
  }
  // A pooler that ignores the option is good enough, unless another schema comes first.
  if (unpinned !== null) await inspectServer(pool, { ...expected, schema: unpinned })
}

/** A connection that was closed counts until its process on the server has ended, a moment later. */
function connectWhenFree(pool: pg.Pool): Promise<pg.PoolClient> {
  return pRetry(() => pool.connect(), {
    retries: 6,
    minTimeout: 20,
    shouldRetry: ({ error }) => error instanceof pg.DatabaseError && error.code === '53300',
  })
}

/** To a user who may not use a schema it looks as if it were missing. */
async function rejectClosedSchema(
  client: pg.PoolClient,
  { path, user }: ServerSettings,
): Promise<void> {
  const parts = [...path.matchAll(/"((?:[^"]|"")*)"|([^,\s"]+)/g)]
  const names = parts.map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '')
  const { rows } = await client.query<{ name: string }>(
    `select nspname as name from pg_namespace where nspname = any ($1)
      and not has_schema_privilege(oid, 'usage')`,
    [names.map((name) => (name === '$user' ? user : name))],
  )
  const [closed] = rows
  if (closed === undefined) return
  const write = (name: string) => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : quoteName(name))
  throw new UserError({
    what: 'cannot use this database as the warehouse',
    why: `the user ${user} may not use the schema ${closed.name}`,
    next:
      'let its owner run: grant usage, create on schema ' +
      `${write(closed.name)} to ${write(user)}`,
  })
}

/** SQL_ASCII stores bytes and knows no characters: lengths and JSON would be wrong. */
function encodingError(encoding: string): UserError {
  return new UserError({
    what: 'cannot use this database as the warehouse',
    why: `its encoding is ${encoding}, which cannot hold all characters`,
    next: 'create one that can: createdb --encoding=UTF8 --template=template0 NAME',
  })
}

function rejectLostSettings(
  { schema: current, path, dates }: ServerSettings,
  schema: string | null,
): void {
  if (schema !== null && schema !== current && path !== quoteName(schema))
    throw lostSettings(...lostSchema(schema))
  if (!dates.startsWith('ISO'))
    throw lostSettings('the date format', 'alter role USER set datestyle = ISO')
}

const lostSchema = (schema: string) =>
  ['?schema=', `alter role USER set search_path = ${schema}`] as const

function lostSettings(setting: string, onServer: string): UserError {
  return new UserError({
    what: 'cannot use this database as the warehouse',
    why:
      'a connection pooler (PgBouncer) in front of it does not keep the ' +
      `settings of a connection: ${setting}`,
    next: `connect to Postgres directly, or set it on the server: ${onServer}`,
  })
}
