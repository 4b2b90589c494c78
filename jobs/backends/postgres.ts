/** The queue in a Postgres server, in a schema of its own: one pool, with room for every worker's own connection. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { PgPool } from 'bullmq'
import pg from 'pg'
import { UserError } from '../../src/core/user-error.ts'
import { splitPostgresUrl } from '../../src/warehouse/database/postgres.ts'
import type { StoreConnection, StoreOptions } from './store-connection.ts'
import { serverName, retryUntilConnected } from './connect-retry.ts'
import { migrateStore, createPostgresFactory, sendToBack } from './postgres-store.ts'

/** Connections for what is not waiting for jobs. */
const spareConnections = 4

/** The schema is `<prefix>_queue`, or the URL's `?schema=`. */
export async function openPostgres(url: string, { prefix, connectTimeoutMs: patienceMs, requestTimeoutMs: answerMs }: StoreOptions): Promise<StoreConnection> {
  const databaseUrl = new URL(url)
  const schema = databaseUrl.searchParams.get('schema') ?? `${prefix}_queue`
  databaseUrl.searchParams.set('schema', schema)
  const { connectionString, options } = splitPostgresUrl(databaseUrl.href)
  const server = { connectionString, options, application_name: 'deskmirror' }
  const pool = new pg.Pool({
    ...server,
    max: spareConnections,
    connectionTimeoutMillis: answerMs,
    idleTimeoutMillis: 60_000,
    query_timeout: answerMs,
    keepAlive: true,
  })
  // Whoever uses a connection that breaks is told by its query; without listeners it would end the process besides.
  pool.on('error', () => {})
  pool.on('connect', (client) => void client.on('error', () => {}))
  const ping = async () => void (await pool.query('select 1'))
  const slowedPool = slowFailures(pool)
  try {
    await retryUntilConnected(url, patienceMs, ping, refusalHint)
    await retryUntilConnected(url, patienceMs, () => migrateStore(slowedPool, schema), refusalHint)
    await requireSearchPath(pool, url, schema)
  } catch (error) {
    await pool.end()
    throw error
  }
  return {
    kind: 'postgres',
    warnings: [],
    prefix: null,
    factory: createPostgresFactory(slowedPool, schema),
    // Without it the pool would run out, and everything wait for ever. Source: pg reads `max` at each connect.
    reserveConnection: () => {
      pool.options.max += 1
    },
    sendToBack: (queue, jobId) => sendToBack(slowedPool, queue, jobId),
    runExclusively: (work) => withAdvisoryLock(server, `deskmirror schedules ${schema}`, work),
    ping,
    close: () => pool.end(),
  }
}

function refusalHint(error: Error): string {
  const code = 'code' in error ? error.code : undefined
  if (code === '42501') return 'let this user create a schema in the database, or name one of its own with ?schema='
  if (code === '3D000') return 'create the database, or name another one in DESKMIRROR_QUEUE_URL'
  return 'check user, password, database and ?schema= in DESKMIRROR_QUEUE_URL'
}

/** A pooler in between may drop what a session is started with, and would also drop the notifications. */
async function requireSearchPath(pool: pg.Pool, url: string, schema: string): Promise<void> {
  const { rows } = await pool.query<{ schema: string | null }>('select current_schema() as schema')
  if (rows[0]?.schema === schema) return
  throw new UserError({
    what: `cannot use the queue ${serverName(url)}`,
    why: 'a connection does not keep its settings, as if there were a pooler (PgBouncer) in between',
    next: 'let DESKMIRROR_QUEUE_URL name the server itself',
    exitCode: 2,
  })
}

/** BullMQ tries again at once, whatever went wrong, and lets nothing else happen meanwhile: its failures are slowed down. */
function slowFailures(pool: pg.Pool): PgPool {
  const delayFailure = async <T>(attempt: Promise<T>): Promise<T> => {
    try {
      return await attempt
    } catch (error) {
      await sleep(200 + Math.random() * 300)
      throw error
    }
  }
  const { keepAlive } = pool.options
  const slowedPool = {
    options: { keepAlive },
    query: (text: string, values?: readonly unknown[]) => delayFailure(pool.query(text, values && [...values])),
    connect: () => delayFailure(pool.connect()),
    end: async () => {},
    on: () => slowedPool,
    removeAllListeners: () => slowedPool,
  }
  return slowedPool as PgPool
}

/** A lock needs a connection of its own: taken from the pool, a few of them would leave none for the work itself. */
async function withAdvisoryLock(server: pg.ClientConfig, what: string, work: () => Promise<void>): Promise<void> {
  const client = new pg.Client({ ...server, statement_timeout: 60_000, keepAlive: true })
  // Who waits for an answer is told, and the lock is gone with the connection.
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query('select pg_advisory_lock(hashtext($1))', [what])
    await work()
  } finally {
    await client.end()
  }
}
