/** The thread that runs Postgres (PGlite): takes SQL text, returns rows and notifications. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { messages, PGlite, types } from '@electric-sql/pglite'
import { collectGarbage } from '../../collect-garbage.ts'
import { memoryFilesOf, releaseUnneededFiles } from './memory-files.ts'
import { isThreadOptions, type SqlError, type SqlRequest, type ThreadMessage } from './messages.ts'
import { startParams } from './start-params.ts'

const options: unknown = workerData?.options
if (parentPort === null || !isThreadOptions(options)) throw new Error('this file is a thread of the embedded queue')
const port = parentPort
const { dataFolder, schema, maintainMs, checkLogMs } = options
const send = (message: ThreadMessage) => port.postMessage(message)

/** Of 1 MB each; two of them and two folders are always there. */
const maxLogFiles = 8

const database = await PGlite.create({
  dataDir: dataFolder,
  // pg reads these as text, and BullMQ expects that.
  parsers: { [types.INT8]: (text: string) => text },
  startParams,
})
releaseUnneededFiles(memoryFilesOf(database))
database.onNotification((channel, payload) => send({ channel, payload }))
await database.exec(`create schema if not exists "${schema}"; set search_path = "${schema}"`)

async function runRequest({ id, text, values }: SqlRequest): Promise<void> {
  try {
    const result = values.length > 0 ? await database.query(text, values) : (await database.exec(text)).at(-1)
    const rows = result?.rows ?? []
    // PGlite counts only changed rows; pg also counts rows read.
    send({ id, rows, rowCount: Math.max(rows.length, result?.affectedRows ?? 0) })
  } catch (error) {
    const sqlError = toSqlError(error)
    // Ends the thread.
    if (sqlError === null) throw error
    send({ id, error: sqlError })
  }
}

/** Null: Postgres itself broke, or reports an internal error (class XX), so no later response can be trusted. */
function toSqlError(error: unknown): SqlError | null {
  if (!(error instanceof messages.DatabaseError) || error.code?.startsWith('XX')) return null
  return { message: error.message, code: error.code, detail: error.detail }
}

async function shutDown(): Promise<void> {
  clearInterval(maintenance)
  clearInterval(logCheck)
  await database.exec('checkpoint')
  await database.close()
  port.close()
}

/** The embedded Postgres has no autovacuum, and without checkpoints a start after a crash takes long. */
const maintenance = setInterval(maintain, maintainMs)

async function maintain(): Promise<void> {
  // Not in one call: several statements at once form a transaction, in which Postgres refuses to vacuum.
  await database.exec('vacuum')
  await database.exec('checkpoint')
}

/** A Postgres without other processes makes no checkpoints by itself, and its log grows until one. */
const logCheck = setInterval(shortenLog, checkLogMs)

async function shortenLog(): Promise<void> {
  if (readdirSync(join(dataFolder, 'pg_wal')).length > maxLogFiles) await database.exec('checkpoint')
}

port.on('message', (request: SqlRequest | 'finish') => void (request === 'finish' ? shutDown() : runRequest(request)))
// What opening left behind.
collectGarbage()
send('ready')
