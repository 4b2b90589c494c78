/** The session with the thread: requests wait for their responses, and all of them fail when the thread ends. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import type { PgNotification, PgQueryResult } from 'bullmq'
import type { Ms } from '../../../src/core/time.ts'
import type { SqlRequest, ThreadMessage, ThreadOptions } from './messages.ts'
import { startThread } from './start-thread.ts'

export type ThreadSession = Awaited<ReturnType<typeof startThreadSession>>

/** What is not written by then is recovered from the write-ahead log at the next start. */
const closeTimeoutMs = 5_000

/** Resolves when the thread is ready; rejects when the store cannot be opened. `onClosed`: it ended without a request. */
export async function startThreadSession(options: ThreadOptions, onClosed: (error: Error) => void) {
  const worker = startThread(options)
  const requests = createPendingRequests()
  const listeners = new Set<(notification: PgNotification) => void>()
  const started = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  let cause: Error | null = null
  let isClosing = false

  worker.on('message', (message: ThreadMessage) => {
    if (message === 'ready') started.resolve()
    else if ('channel' in message) for (const listener of listeners) listener(message)
    else requests.settle(message)
  })
  worker.on('error', (error) => {
    cause = error instanceof Error ? error : new Error(String(error))
  })
  worker.once('exit', () => {
    cause ??= new Error('the thread of the embedded queue ended')
    started.reject(cause)
    ended.resolve()
    requests.rejectAll(cause)
    if (!isClosing) onClosed(cause)
  })

  await started.promise
  terminateWhenSilent(worker, requests.oldest, options.silenceMs)
  return {
    query: async (text: string, values: readonly unknown[]): Promise<PgQueryResult<unknown>> => {
      if (cause !== null) {
        // BullMQ tries again at once: without this pause it would block the event loop.
        await sleep(500)
        throw cause
      }
      const { id, result } = requests.add()
      worker.postMessage({ id, text, values: [...values] } satisfies SqlRequest)
      return result
    },
    onNotification: (listener: (notification: PgNotification) => void) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    /** Writes everything to disk and ends the thread. */
    close: async () => {
      isClosing = true
      worker.postMessage('finish')
      const forceTimer = setTimeout(() => void worker.terminate(), closeTimeoutMs)
      await ended.promise
      clearTimeout(forceTimer)
    },
    /** Ends the thread as it is. */
    terminate: async () => {
      isClosing = true
      await worker.terminate()
    },
  }
}

/**
 * A Postgres that panics neither responds nor ends by itself. The oldest request is compared twice, so that a process
 * that was itself suspended does not blame the thread.
 */
function terminateWhenSilent(worker: Worker, oldest: () => number | null, silenceMs: Ms): void {
  let before: number | null = null
  const checkProgress = () => {
    const oldestNow = oldest()
    if (oldestNow !== null && oldestNow === before) void worker.terminate()
    before = oldestNow
  }
  const timer = setInterval(checkProgress, silenceMs).unref()
  worker.once('exit', () => clearInterval(timer))
}

/** The requests that the thread has not responded to. */
function createPendingRequests() {
  const pending = new Map<number, PromiseWithResolvers<PgQueryResult<unknown>>>()
  let lastId = 0
  return {
    add() {
      const request = Promise.withResolvers<PgQueryResult<unknown>>()
      pending.set(++lastId, request)
      return { id: lastId, result: request.promise }
    },
    oldest: () => [...pending.keys()][0] ?? null,
    settle(response: Exclude<ThreadMessage, 'ready' | { channel: string }>) {
      const request = pending.get(response.id)
      pending.delete(response.id)
      if ('error' in response) request?.reject(Object.assign(new Error(response.error.message), response.error))
      else request?.resolve({ rows: response.rows, rowCount: response.rowCount })
    },
    rejectAll(cause: Error) {
      for (const { reject } of pending.values()) reject(cause)
      pending.clear()
    },
  }
}
