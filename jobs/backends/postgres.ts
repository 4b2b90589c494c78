/** The queue in a Postgres server, in a schema of its own: one pool, with room for every worker's own connection. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { PgPool } from 'bullmq'
import pg from 'pg'
import { UserError } from '../../src/core/user-error.ts'
import { splitUrl } from '../../src/warehouse/database/postgres.ts'
import type { Link, LinkOptions } from './link.ts'
import { named, patiently } from './patience.ts'
import { migrateStore, postgresFactory, sendToBack } from './postgres-store.ts'

/** Connections for what is not waiting for jobs. */
const spare = 4

/** The schema is `<prefix>_queue`, or the URL's `?schema=`. */
export async function openPostgres(url: string, { prefix, patienceMs, answerMs }: LinkOptions): Promise<Link> {
  const place = new URL(url)
  const schema = place.searchParams.get('schema') ?? `${prefix}_queue`
  place.searchParams.set('schema', schema)
  const { connectionString, options } = splitUrl(place.href)
  const server = { connectionString, options, application_name: 'deskmirror' }
  const pool = new pg.Pool({
    ...server,
    max: spare,
    connectionTimeoutMillis: answerMs,
    idleTimeoutMillis: 60_000,
    query_timeout: answerMs,
    keepAlive: true,
  })
  // Whoever uses a connection that breaks is told by its query; without listeners it would end the process besides.
  pool.on('error', () => {})
  pool.on('connect', (client) => void client.on('error', () => {}))
  const ping = async () => void (await pool.query('select 1'))
  const shared = calm(pool)
  try {
    await patiently(url, patienceMs, ping, whenRefused)
    await patiently(url, patienceMs, () => migrateStore(shared, schema), whenRefused)
    await requireSearchPath(pool, url, schema)
  } catch (error) {
    await pool.end()
    throw error
  }
  return {
    kind: 'postgres',
    warnings: [],
    prefix: null,
    factory: postgresFactory(shared, schema),
    // Without it the pool would run out, and everything wait for ever. Source: pg reads `max` at each connect.
    expectWorker: () => {
      pool.options.max += 1
    },
    sendToBack: (queue, jobId) => sendToBack(shared, queue, jobId),
    alone: (work) => alone(server, `deskmirror schedules ${schema}`, work),
    ping,
    close: () => pool.end(),
  }
}

function whenRefused(error: Error): string {
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
    what: `cannot use the queue ${named(url)}`,
    why: 'a connection does not keep its settings, as if there were a pooler (PgBouncer) in between',
    next: 'let DESKMIRROR_QUEUE_URL name the server itself',
    exitCode: 2,
  })
}

/** BullMQ tries again at once, whatever went wrong, and lets nothing else happen meanwhile: its failures are slowed down. */
function calm(pool: pg.Pool): PgPool {
  const slowly = async <T>(attempt: Promise<T>): Promise<T> => {
    try {
      return await attempt
    } catch (error) {
      await sleep(200 + Math.random() * 300)
      throw error
    }
  }
  const { keepAlive } = pool.options
  const shared = {
    options: { keepAlive },
    query: (text: string, values?: readonly unknown[]) => slowly(pool.query(text, values && [...values])),
    connect: () => slowly(pool.connect()),
    end: async () => {},
    on: () => shared,
    removeAllListeners: () => shared,
  }
  return shared as PgPool
}

/** A lock needs a connection of its own: taken from the pool, a few of them would leave none for the work itself. */
async function alone(server: pg.ClientConfig, what: string, work: () => Promise<void>): Promise<void> {
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
