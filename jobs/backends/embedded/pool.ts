/** The embedded store as a pool of pg, as BullMQ expects it: any number of clients, all on the one session. */
import { EventEmitter } from 'node:events'
import type { PgPool, PgPoolClient } from 'bullmq'
import { toPgPool } from '../postgres-store.ts'
import type { ThreadSession } from './session.ts'

export function createPool(session: ThreadSession): PgPool {
  const query: RunQuery = (text, values = []) => session.query(text, values)
  // No network is involved, so an idle worker may wait without a limit: hence the keep-alive.
  return toPgPool(true, { query, connect: async () => createClient(session, query) })
}

type RunQuery = (text: string, values?: readonly unknown[]) => ReturnType<ThreadSession['query']>

function createClient(session: ThreadSession, query: RunQuery): PgPoolClient {
  // Each worker waits on its own client, and a process may start many.
  const events = new EventEmitter().setMaxListeners(0)
  const unsubscribe = session.onNotification((notification) => events.emit('notification', notification))
  const release = () => {
    unsubscribe()
    events.removeAllListeners()
  }
  return Object.assign(events, { query, release }) as PgPoolClient
}
