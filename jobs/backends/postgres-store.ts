/** BullMQ's Postgres store over a pool of ours, on a server or in this process, in a schema of our choice. */
import { type PgPool, PostgresConnection, PostgresQueueBackend, runMigrations } from 'bullmq'
import type { BullBackendFactory } from './store-connection.ts'

export function createPostgresFactory(pool: PgPool, schema: string): BullBackendFactory {
  return (name, options, use = {}) => {
    // For a given pool BullMQ reads the tables in the schema `bullmq`, and has no setting for it. It also remembers for
    // ever that its first check failed, as when the server stops just then; our migration has checked already.
    const connection = Object.assign(new PostgresConnection(pool), { schema, waitUntilReady: async () => {} })
    const listener = use.withBlockingConnection ? name : use.blocking ? `${name}:qe` : undefined
    return new PostgresQueueBackend(connection, name, { ...options, connection: pool }, true, listener)
  }
}

type PoolCalls = {
  readonly query: (text: string, values?: readonly unknown[]) => Promise<unknown>
  readonly connect: () => Promise<unknown>
}

/** What BullMQ uses of a pool of pg. It is closed by whoever opened it, and emits no events. */
export function toPgPool(keepAlive: boolean | undefined, calls: PoolCalls): PgPool {
  const pool = { options: { keepAlive }, ...calls, end: async () => {}, on: () => pool, removeAllListeners: () => pool }
  return pool as PgPool
}

/** Must run first: a worker on a schema without tables blocks the event loop forever. */
export async function migrateStore(pool: PgPool, schema: string): Promise<void> {
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
export async function sendToBack(pool: PgPool, queue: string, jobId: string): Promise<void> {
  await pool.query("update job set seq = nextval('job_seq') where queue = $1 and id = $2", [queue, jobId])
}
