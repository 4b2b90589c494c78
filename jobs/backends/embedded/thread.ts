/** The thread with the Postgres in it (PGlite): texts of SQL in, rows and notifications out. */
import { parentPort, workerData } from 'node:worker_threads'
import { messages, PGlite, types } from '@electric-sql/pglite'
import { type ThreadMessage, isThreadOptions, type SqlRequest, type SqlError } from './messages.ts'

if (parentPort === null || !isThreadOptions(workerData)) throw new Error('this file is a thread of the embedded queue')
const port = parentPort
const { dataFolder, schema, maintainMs } = workerData
const send = (answer: ThreadMessage) => port.postMessage(answer)

const database = await PGlite.create({
  dataDir: dataFolder,
  // As pg reads them, and as BullMQ expects them: as text.
  parsers: { [types.INT8]: (text: string) => text },
  // The defaults are for a server: these halve the memory and bound what lies on the disk.
  startParams: [...PGlite.defaultStartParams, '-c', 'shared_buffers=8MB', '-c', 'max_wal_size=64MB'],
})
database.onNotification((channel, payload) => send({ channel, payload }))
await database.exec(`create schema if not exists "${schema}"; set search_path = "${schema}"`)

async function runRequest({ id, text, values }: SqlRequest): Promise<void> {
  try {
    const result = values.length > 0 ? await database.query(text, values) : (await database.exec(text)).at(-1)
    const rows = result?.rows ?? []
    // PGlite counts what was changed only, pg also what was read.
    send({ id, rows, rowCount: Math.max(rows.length, result?.affectedRows ?? 0) })
  } catch (error) {
    const refusal = toSqlError(error)
    // Ends the thread.
    if (refusal === null) throw error
    send({ id, error: refusal })
  }
}

/** Null: not a refusal, but Postgres itself broke, or says so (class XX). No later answer of it could be trusted. */
function toSqlError(error: unknown): SqlError | null {
  if (!(error instanceof messages.DatabaseError) || error.code?.startsWith('XX')) return null
  return { message: error.message, code: error.code, detail: error.detail }
}

async function shutDown(): Promise<void> {
  clearInterval(maintenance)
  await database.exec('checkpoint')
  await database.close()
  port.close()
}

/** There is no autovacuum in here, and without checkpoints a start after a crash takes long. */
const maintenance = setInterval(maintain, maintainMs)

async function maintain(): Promise<void> {
  // Not in one call: several statements at once are a transaction, where Postgres refuses to vacuum.
  await database.exec('vacuum')
  await database.exec('checkpoint')
}

port.on('message', (question: SqlRequest | 'finish') => void (question === 'finish' ? shutDown() : runRequest(question)))
send('ready')
