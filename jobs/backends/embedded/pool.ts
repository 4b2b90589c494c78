/** The embedded store as BullMQ wants to see a pool of pg: any number of clients, all of them the one session. */
import { EventEmitter } from 'node:events'
import type { PgPool, PgPoolClient } from 'bullmq'
import type { Session } from './session.ts'

export function poolOver(session: Session): PgPool {
  const query: Query = (text, values = []) => session.ask(text, values)
  const pool = {
    // Nothing lies between us that could break unnoticed: a worker with nothing to do may wait for as long as it likes.
    options: { keepAlive: true },
    query,
    connect: async () => clientOf(session, query),
    end: async () => {},
    // It never says anything by itself.
    on: () => pool,
    removeAllListeners: () => pool,
  }
  return pool as PgPool
}

type Query = (text: string, values?: readonly unknown[]) => ReturnType<Session['ask']>

function clientOf(session: Session, query: Query): PgPoolClient {
  // Each worker waits on a client of its own, and a test or a person may start many.
  const events = new EventEmitter().setMaxListeners(0)
  const forget = session.onNotification((notification) => events.emit('notification', notification))
  const release = () => {
    forget()
    events.removeAllListeners()
  }
  return Object.assign(events, { query, release }) as PgPoolClient
}
