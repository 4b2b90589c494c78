/** The queue in a Postgres server, in a schema of its own: one pool, with a connection for every worker. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type PgPool, PostgresConnection, PostgresQueueBackend, runMigrations } from 'bullmq'
import pg from 'pg'
import { serverDisplayName } from '../../../src/values/server-address.ts'
import { splitPostgresUrl } from '../../../src/warehouse/postgres.ts'
import type { BullBackendFactory, StoreConnection, StoreOptions } from './bullmq.ts'
import { retryUntilConnected, unusableQueue } from './store-errors.ts'

/** Connections beside those that wait for jobs. */
const spareConnections = 4

/** The schema is `<prefix>_queue`, or the URL's `?schema=`. */
export async function openPostgres(
  url: string,
  { prefix, connectTimeoutMs, requestTimeoutMs }: StoreOptions,
): Promise<StoreConnection> {
  const databaseUrl = new URL(url)
  const schema = databaseUrl.searchParams.get('schema') ?? `${prefix}_queue`
  databaseUrl.searchParams.set('schema', schema)
  const { connectionString, options } = splitPostgresUrl(databaseUrl.href)
  const server = { connectionString, options, application_name: 'deskmirror' }
  const pool = new pg.Pool({
    ...server,
    max: spareConnections,
    connectionTimeoutMillis: requestTimeoutMs,
    idleTimeoutMillis: 60_000,
    query_timeout: requestTimeoutMs,
    keepAlive: true,
  })
  // The query on a broken connection reports the error; without these listeners it would also end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => void client.on('error', () => {}))
  const ping = async () => void (await pool.query('select 1'))
  const slowedPool = slowFailures(pool)
  try {
    await retryUntilConnected(url, connectTimeoutMs, ping, refusalHint)
    await retryUntilConnected(url, connectTimeoutMs, () => migrateStore(slowedPool, schema), refusalHint)
    await requireSearchPath(pool, url, schema)
  } catch (error) {
    await pool.end()
    throw error
  }
  return {
    kind: 'postgres',
    server: serverDisplayName(url),
    warnings: [],
    prefix: null,
    factory: createPostgresFactory(slowedPool, schema),
    // Without it the pool would run out, and every request would wait forever. Source: pg reads `max` at each connect.
    reserveConnection: () => {
      pool.options.max += 1
    },
    sendToBack: (queue, jobId) => sendToBack(slowedPool, queue, jobId),
    runExclusively: (work) => withAdvisoryLock(server, `deskmirror schedules ${schema}`, work),
    resumeStep: (queue) => `run in the queue's database: select "${schema}".pause('${queue}', false)`,
    ping,
    close: () => pool.end(),
  }
}

function createPostgresFactory(pool: PgPool, schema: string): BullBackendFactory {
  return (name, options, use = {}) => {
    // For a given pool BullMQ reads the tables in the schema `bullmq`, and has no setting for it. It also remembers for
    // ever that its first check failed, as when the server stops just then; our migration has checked already.
    const connection = Object.assign(new PostgresConnection(pool), { schema, waitUntilReady: async () => {} })
    const listener = use.withBlockingConnection ? name : use.blocking ? `${name}:qe` : undefined
    return new PostgresQueueBackend(connection, name, { ...options, connection: pool }, true, listener)
  }
}

/** Must run first: a worker on a schema without tables blocks the event loop forever. */
async function migrateStore(pool: PgPool, schema: string): Promise<void> {
  const client = await pool.connect()
  try {
    await runMigrations(client, schema)
  } finally {
    client.release()
  }
}

/**
 * A job keeps the position that it got when it was added, so a delayed job would return ahead of all later ones, again
 * and again. BullMQ has no call for this; the column is that of its tables in 6.7.
 */
async function sendToBack(pool: PgPool, queue: string, jobId: string): Promise<void> {
  await pool.query("update job set seq = nextval('job_seq') where queue = $1 and id = $2", [queue, jobId])
}

function refusalHint(error: Error): string {
  const code = 'code' in error ? error.code : undefined
  if (code === '42501') return 'let this user create a schema in the database, or name one of its own with ?schema='
  if (code === '3D000') return 'create the database, or name another one in DESKMIRROR_QUEUE_URL'
  return 'check user, password, database and ?schema= in DESKMIRROR_QUEUE_URL'
}

/** A pooler may drop the session settings, and would also drop the notifications. */
async function requireSearchPath(pool: pg.Pool, url: string, schema: string): Promise<void> {
  const { rows } = await pool.query<{ schema: string | null }>('select current_schema() as schema')
  if (rows[0]?.schema === schema) return
  const why = 'a connection loses its settings, which a pooler (PgBouncer) in between would explain'
  throw unusableQueue(url, why, 'set DESKMIRROR_QUEUE_URL to the server itself')
}

/** BullMQ tries again at once after any error and blocks the event loop meanwhile, so failures are delayed. */
function slowFailures(pool: pg.Pool): PgPool {
  const delayFailure = async <T>(attempt: Promise<T>): Promise<T> => {
    try {
      return await attempt
    } catch (error) {
      await sleep(200 + Math.random() * 300)
      throw error
    }
  }
  // What BullMQ uses of a pool. Whoever opened the real one closes it, and has its events.
  const slowed = {
    options: { keepAlive: pool.options.keepAlive },
    query: (text: string, values?: readonly unknown[]) => delayFailure(pool.query(text, values && [...values])),
    connect: () => delayFailure(pool.connect()),
    end: async () => {},
    on: () => slowed,
    removeAllListeners: () => slowed,
  }
  return slowed as unknown as PgPool
}

/** A lock needs a connection of its own: from the pool, a few locks would leave none for the work itself. */
async function withAdvisoryLock(server: pg.ClientConfig, lockName: string, work: () => Promise<void>): Promise<void> {
  const client = new pg.Client({ ...server, statement_timeout: 60_000, keepAlive: true })
  // The pending query reports the error, and the lock ends with the connection.
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query('select pg_advisory_lock(hashtext($1))', [lockName])
    await work()
  } finally {
    await client.end()
  }
}
