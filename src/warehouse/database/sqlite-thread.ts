/**
 * SQLite read by a thread of its own, with a connection of its own: a slow question delays other questions, and nothing
 * else in the process. Only for reading: single statements, and snapshots of several.
 */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { ConnectionPool, StatementResult } from './connection-pool.ts'
import { serializeAccess } from './sqlite.ts'

export type ThreadRequest = { readonly id: number; readonly text: string; readonly parameters: readonly unknown[] }
export type ThreadAnswer =
  | { readonly id: number; readonly rows: readonly unknown[] }
  | { readonly id: number; readonly message: string; readonly code: string }

type Waiting = { readonly resolve: (result: StatementResult) => void; readonly reject: (error: Error) => void }

/** The thread starts with the first statement, and again after it has failed. */
export function openSqliteThread(path: string): ConnectionPool {
  const waiting = new Map<number, Waiting>()
  let [thread, lastId]: [Worker | null, number] = [null, 0]
  const fail = (error: Error) => {
    thread = null
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }
  const start = () => {
    // The compiled package has JavaScript only.
    const file = new URL(`./sqlite-thread-main${extname(import.meta.url)}`, import.meta.url)
    const started = new Worker(file, { workerData: { path } })
    started.on('message', (answer: ThreadAnswer) => {
      const asked = waiting.get(answer.id)
      waiting.delete(answer.id)
      // It keeps the process alive only while an answer is pending.
      if (waiting.size === 0) started.unref()
      if ('rows' in answer) asked?.resolve({ rows: answer.rows, affectedRows: answer.rows.length })
      else asked?.reject(Object.assign(new Error(answer.message), { code: answer.code }))
    })
    started.on('error', fail)
    started.on('exit', () => fail(new Error('the thread that reads the database has ended')))
    return started
  }
  const run = (text: string, parameters: readonly unknown[]) =>
    new Promise<StatementResult>((resolve, reject) => {
      thread ??= start()
      thread.ref()
      lastId += 1
      waiting.set(lastId, { resolve, reject })
      thread.postMessage({ id: lastId, text, parameters } satisfies ThreadRequest)
    })
  const pool: ConnectionPool = {
    kind: 'sqlite',
    // A snapshot keeps the connection, and other statements wait for its end.
    acquire: serializeAccess(run),
    openSeparate: () => ({ ...pool, close: async () => {} }),
    close: async () => void (await thread?.terminate()),
  }
  return pool
}
