/**
 * SQLite read by a thread with a connection of its own: a slow question delays only other ones.
 * Single statements, and snapshots of several.
 */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type {
  ColumnOrigin,
  ConnectionPool,
  LocalReads,
  StatementResult,
  ValueList,
} from './connection-pool.ts'
import { serializeAccess } from './sqlite.ts'

export type ThreadRequest = {
  readonly id: number
  /** `nextBatch`: of the last `firstBatch`; the one after the last is empty. */
  readonly asks: 'rows' | 'firstBatch' | 'nextBatch' | 'origins'
  readonly text: string
  readonly parameters: readonly unknown[]
}
export type ThreadAnswer =
  | { readonly id: number; readonly rows: readonly unknown[] }
  | { readonly id: number; readonly message: string; readonly code: string }

/**
 * Starts with the first statement, and again after it failed. From `signal` on, no answer is waited
 * for, as a statement may never end and cannot be interrupted; nor does an ordinary exit end it.
 */
export function openSqliteThread(path: string, signal?: AbortSignal): ConnectionPool {
  const waiting = new Map<number, PromiseWithResolvers<readonly unknown[]>>()
  let [thread, lastId]: [Worker | null, number] = [null, 0]
  const rejectAll = (error: unknown) => {
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }
  const fail = (error: unknown) => {
    thread = null
    rejectAll(error)
  }
  signal?.addEventListener('abort', () => rejectAll(signal.reason), { once: true })
  const start = () => {
    // The compiled package has JavaScript only.
    const file = new URL(`./sqlite-thread-main${extname(import.meta.url)}`, import.meta.url)
    const started = new Worker(file, { workerData: { path } })
    started.on('message', (answer: ThreadAnswer) => {
      const asked = waiting.get(answer.id)
      waiting.delete(answer.id)
      // It keeps the process alive only while an answer is pending.
      if (waiting.size === 0) started.unref()
      if ('rows' in answer) asked?.resolve(answer.rows)
      else asked?.reject(Object.assign(new Error(answer.message), { code: answer.code }))
    })
    started.on('error', fail)
    started.on('exit', () => fail(new Error('the thread that reads the database has ended')))
    return started
  }
  const ask = async (asks: ThreadRequest['asks'], text: string, parameters: readonly unknown[]) => {
    signal?.throwIfAborted()
    thread ??= start()
    thread.ref()
    lastId += 1
    const asked = Promise.withResolvers<readonly unknown[]>()
    waiting.set(lastId, asked)
    thread.postMessage({ id: lastId, asks, text, parameters } satisfies ThreadRequest)
    return asked.promise
  }
  const run = async (text: string, parameters: readonly unknown[]): Promise<StatementResult> => {
    const rows = await ask('rows', text, parameters)
    return { rows, affectedRows: rows.length }
  }
  const local: LocalReads = {
    async *readBatches(text, parameters) {
      let batch = await ask('firstBatch', text, parameters)
      while (batch.length > 0) {
        // It is read while this one is written.
        const next = ask('nextBatch', '', [])
        next.catch(() => {})
        yield batch as ValueList[]
        batch = await next
      }
    },
    columnOrigins: async (text) => (await ask('origins', text, [])) as ColumnOrigin[],
  }
  return {
    kind: 'sqlite',
    // A snapshot keeps the connection, and other statements wait for its end.
    acquire: serializeAccess(run, local),
    close: async () => {
      const ended = thread?.terminate()
      if (!signal?.aborted) await ended
      thread?.unref()
    },
  }
}
