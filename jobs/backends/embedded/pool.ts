/** The embedded store as BullMQ wants to see a pool of pg: any number of clients, all of them the one session. */
import { EventEmitter } from 'node:events'
import type { PgPool, PgPoolClient } from 'bullmq'
import type { ThreadSession } from './session.ts'

export function createPool(session: ThreadSession): PgPool {
  const query: RunQuery = (text, values = []) => session.query(text, values)
  const pool = {
    // Nothing lies between us that could break unnoticed: a worker with nothing to do may wait for as long as it likes.
    options: { keepAlive: true },
    query,
    connect: async () => createClient(session, query),
    end: async () => {},
    // It never says anything by itself.
    on: () => pool,
    removeAllListeners: () => pool,
  }
  return pool as PgPool
}

type RunQuery = (text: string, values?: readonly unknown[]) => ReturnType<ThreadSession['query']>

function createClient(session: ThreadSession, query: RunQuery): PgPoolClient {
  // Each worker waits on a client of its own, and a test or a person may start many.
  const events = new EventEmitter().setMaxListeners(0)
  const unsubscribe = session.onNotification((notification) => events.emit('notification', notification))
  const release = () => {
    unsubscribe()
    events.removeAllListeners()
  }
  return Object.assign(events, { query, release }) as PgPoolClient
}
