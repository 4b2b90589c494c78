/** The thread behind `sqlite-thread.ts`: answers one statement after the other. */
import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { errorCode } from '../values/user-error.ts'
import type { ValueList } from './connection-pool.ts'
import {
  columnOrigins,
  createStatementCache,
  distrustSchema,
  readBatches,
  runStatement,
} from './sqlite.ts'
import type { ThreadAnswer, ThreadRequest } from './sqlite-thread.ts'

const database = new Database(String(workerData.path), { readonly: true, timeout: 5000 })
distrustSchema(database)
database.pragma('cache_size = -8192')
const prepare = createStatementCache(database)

let batches: Iterator<readonly ValueList[]> | null = null

parentPort?.on('message', (request: ThreadRequest) => {
  parentPort?.postMessage(answer(request))
})

const nextBatch = (): readonly ValueList[] => batches?.next().value ?? []
const results: Readonly<
  Record<ThreadRequest['asks'], (request: ThreadRequest) => readonly unknown[]>
> = {
  rows: ({ text, parameters }) => runStatement(prepare(text), parameters).rows,
  firstBatch: ({ text, parameters }) => {
    batches?.return?.()
    batches = readBatches(database, text, parameters)
    return nextBatch()
  },
  nextBatch,
  origins: ({ text }) => columnOrigins(database, text),
}

function answer(request: ThreadRequest): ThreadAnswer {
  const { id } = request
  try {
    return { id, rows: results[request.asks](request) }
  } catch (error) {
    if (!(error instanceof Error)) throw error
    return { id, message: error.message, code: errorCode(error) }
  }
}
