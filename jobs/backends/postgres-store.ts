/** BullMQ's Postgres store over a pool that we made, on a server or within this process, in a schema of our choice. */
import { type PgPool, PostgresConnection, PostgresQueueBackend, runMigrations } from 'bullmq'
import type { Factory } from './link.ts'

export function postgresFactory(pool: PgPool, schema: string): Factory {
  return (name, options, use = {}) => {
    // BullMQ looks for a given pool's tables in the schema bullmq, and has no setting for it.
    const connection = Object.assign(new PostgresConnection(pool), { schema })
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
