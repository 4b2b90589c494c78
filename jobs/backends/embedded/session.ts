/** The one session with the thread: questions wait for their answers, and all of them fail when the thread dies. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { PgNotification, PgQueryResult } from 'bullmq'
import type { Ms } from '../../../src/core/time.ts'
import type { Answer, Question, Setting } from './messages.ts'

export type Session = {
  readonly ask: (text: string, values: readonly unknown[]) => Promise<PgQueryResult<unknown>>
  readonly onNotification: (listener: (notification: PgNotification) => void) => () => void
  /** Writes everything to disk and ends the thread. */
  readonly finish: () => Promise<void>
  /** Ends the thread as it is. */
  readonly abandon: () => Promise<void>
}

/** What is not written by then is found in the log of changes by the next to open. */
const finishMs = 5_000

type Waiting = { readonly resolve: (result: PgQueryResult<unknown>) => void; readonly reject: (error: Error) => void }

/** `.ts` in a checkout, `.js` where it was compiled. */
const thread = new URL(`./thread${import.meta.url.slice(import.meta.url.lastIndexOf('.'))}`, import.meta.url)

/** Resolves when the thread is ready; rejects when the store cannot be opened. `onDeath`: it ended, and was not asked to. */
export async function startSession(setting: Setting, onDeath: (error: Error) => void): Promise<Session> {
  const worker = new Worker(thread, { workerData: setting, name: 'embedded queue' })
  const waiting = new Map<number, Waiting>()
  const listeners = new Set<(notification: PgNotification) => void>()
  const started = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  let cause: Error | null = null
  let asked = 0
  let finishing = false

  worker.on('message', (answer: Answer) => {
    if (answer === 'ready') started.resolve()
    else if ('channel' in answer) for (const listener of listeners) listener(answer)
    else settle(waiting, answer)
  })
  worker.on('error', (error) => {
    cause = error instanceof Error ? error : new Error(String(error))
  })
  worker.once('exit', () => {
    cause ??= new Error('the thread of the embedded queue ended')
    started.reject(cause)
    ended.resolve()
    for (const { reject } of waiting.values()) reject(cause)
    waiting.clear()
    if (!finishing) onDeath(cause)
  })

  await started.promise
  watchSilence(worker, () => [...waiting.keys()][0] ?? null, setting.silenceMs)
  return {
    ask: async (text, values) => {
      if (cause !== null) {
        // BullMQ asks again at once: without this pause it would never let this process do anything else.
        await sleep(500)
        throw cause
      }
      const { promise, ...handlers } = Promise.withResolvers<PgQueryResult<unknown>>()
      const question: Question = { id: ++asked, text, values: [...values] }
      waiting.set(question.id, handlers)
      worker.postMessage(question)
      return promise
    },
    onNotification: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    finish: async () => {
      finishing = true
      worker.postMessage('finish')
      const late = setTimeout(() => void worker.terminate(), finishMs)
      await ended.promise
      clearTimeout(late)
    },
    abandon: async () => {
      finishing = true
      await worker.terminate()
    },
  }
}

/**
 * A Postgres that panics neither answers nor ends here. Two looks at the same oldest question, so that a process that was
 * itself asleep does not take that for the thread's silence.
 */
function watchSilence(worker: Worker, oldest: () => number | null, silenceMs: Ms): void {
  let before: number | null = null
  const look = () => {
    const now = oldest()
    if (now !== null && now === before) void worker.terminate()
    before = now
  }
  const watch = setInterval(look, silenceMs).unref()
  worker.once('exit', () => clearInterval(watch))
}

function settle(waiting: Map<number, Waiting>, answer: Exclude<Answer, 'ready' | { channel: string }>): void {
  const one = waiting.get(answer.id)
  waiting.delete(answer.id)
  if ('error' in answer) one?.reject(Object.assign(new Error(answer.error.message), answer.error))
  else one?.resolve({ rows: answer.rows, rowCount: answer.rowCount })
}
