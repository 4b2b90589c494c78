/** The thread with the Postgres in it (PGlite): texts of SQL in, rows and notifications out. */
import { parentPort, workerData } from 'node:worker_threads'
import { PGlite, types } from '@electric-sql/pglite'
import { type Answer, isSetting, type Question } from './messages.ts'

if (parentPort === null || !isSetting(workerData)) throw new Error('this file is a thread of the embedded queue')
const port = parentPort
const { dataFolder, schema, maintainMs } = workerData
const send = (answer: Answer) => port.postMessage(answer)

const database = await PGlite.create({
  dataDir: dataFolder,
  // As pg reads them, and as BullMQ expects them: as text.
  parsers: { [types.INT8]: (text: string) => text },
  // The defaults are for a server: these halve the memory and bound what lies on the disk.
  startParams: [...PGlite.defaultStartParams, '-c', 'shared_buffers=8MB', '-c', 'max_wal_size=64MB'],
})
database.onNotification((channel, payload) => send({ channel, payload }))
await database.exec(`create schema if not exists "${schema}"; set search_path = "${schema}"`)

async function answer({ id, text, values }: Question): Promise<void> {
  try {
    const result = values.length > 0 ? await database.query(text, values) : (await database.exec(text)).at(-1)
    const rows = result?.rows ?? []
    send({ id, rows, rowCount: result?.affectedRows ?? rows.length })
  } catch (error) {
    // Postgres itself broke down: no later answer of it can be trusted, so the thread ends.
    if (!(error instanceof Error) || !('severity' in error)) throw error
    const { message, code, detail }: Error & { code?: string; detail?: string } = error
    send({ id, error: { message, code, detail } })
  }
}

async function finish(): Promise<void> {
  clearInterval(maintenance)
  await database.exec('checkpoint')
  await database.close()
  port.close()
}

/** There is no autovacuum in here, and without checkpoints a start after a crash takes long. */
const maintenance = setInterval(() => void database.exec('vacuum; checkpoint'), maintainMs)

port.on('message', (question: Question | 'finish') => void (question === 'finish' ? finish() : answer(question)))
send('ready')
