/** The thread behind `sqlite-thread.ts`: answers one statement after the other. */
import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { createStatementCache, distrustSchema, runStatement } from './sqlite.ts'
import type { ThreadAnswer, ThreadRequest } from './sqlite-thread.ts'

const database = new Database(String(workerData.path), { readonly: true, timeout: 5000 })
distrustSchema(database)
database.pragma('cache_size = -8192')
const prepare = createStatementCache(database)

parentPort?.on('message', ({ id, text, parameters }: ThreadRequest) => {
  parentPort?.postMessage(answer(id, text, parameters))
})

function answer(id: number, text: string, parameters: readonly unknown[]): ThreadAnswer {
  try {
    return { id, rows: runStatement(prepare(text), parameters).rows }
  } catch (error) {
    if (!(error instanceof Error)) throw error
    return { id, message: error.message, code: 'code' in error ? String(error.code) : '' }
  }
}
