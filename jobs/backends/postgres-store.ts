/** BullMQ's Postgres store over a pool that we made, on a server or within this process, in a schema of our choice. */
import { type PgPool, PostgresConnection, PostgresQueueBackend, runMigrations } from 'bullmq'
import type { BullBackendFactory } from './store-connection.ts'

export function createPostgresFactory(pool: PgPool, schema: string): BullBackendFactory {
  return (name, options, use = {}) => {
    // BullMQ looks for a given pool's tables in the schema bullmq, and has no setting for it. It also remembers for ever
    // that its first look at them failed, as when the server stops just then; we have looked.
    const connection = Object.assign(new PostgresConnection(pool), { schema, waitUntilReady: async () => {} })
    const listener = use.withBlockingConnection ? name : use.blocking ? `${name}:qe` : undefined
    return new PostgresQueueBackend(connection, name, { ...options, connection: pool }, true, listener)
  }
}

/** To be done before anything else: a worker on a schema without tables never lets this process do anything again. */
export async function migrateStore(pool: PgPool, schema: string): Promise<void> {
  const client = await pool.connect()
  try {
    await runMigrations(client, schema)
  } finally {
    client.release()
  }
}

/**
 * A job keeps the place in the line that it was given when it was added, so one that was delayed would come back ahead of
 * all that came after it, again and again. BullMQ has no call for this; the column is that of its tables in 6.7.
 */
export async function sendToBack(pool: PgPool, queue: string, jobId: string): Promise<void> {
  await pool.query("update job set seq = nextval('job_seq') where queue = $1 and id = $2", [queue, jobId])
}
