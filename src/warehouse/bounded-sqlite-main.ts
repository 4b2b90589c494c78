/** The process behind `bounded-sqlite.ts`: SQLite itself must call each statement reading. */
import { Worker } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { compareNames, createRowCollector } from './bounded-answer.ts'
import type { SqliteResponse } from './bounded-sqlite.ts'
import { distrustSchema } from './sqlite.ts'

const [, , path = '', reader] = process.argv
const database = new Database(path, {
  readonly: true,
  fileMustExist: true,
  timeout: 1000,
})
distrustSchema(database)
// What a statement sorts stays in the limited memory of this process, instead of filling a disk.
database.pragma('temp_store = memory')

const maxMemoryBytes = 512 * 2 ** 20

/**
 * Ends the process when a statement, which holds its thread, takes too much memory, or nobody is
 * left who would end it. Statements begin only after that.
 */
const guard = `setInterval(() => {
  if (process.ppid !== ${process.ppid} || process.memoryUsage.rss() > ${maxMemoryBytes}) process.kill(process.pid, 'SIGKILL')
}, 100)`
new Worker(guard, { eval: true }).unref()

/** After white space and comments. */
const beginsLikeReading =
  /^(?:\s|--[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*(?:explain\s+(?:query\s+plan\s+)?)?(?:select|with|values)\b/i

process.on('message', (statement: string) => process.send?.(answer(statement)))

function answer(statement: string): SqliteResponse {
  // A pragma takes effect when it is prepared: SQLite is asked only about what begins like a read.
  if (!beginsLikeReading.test(statement)) return { why: 'it is no SELECT' }
  if (/\bpragma_/i.test(statement)) return { why: 'it reads a pragma' }
  try {
    const prepared = database.prepare<[], unknown[]>(statement)
    if (!prepared.reader || !prepared.readonly) return { why: 'it writes' }
    const collector = createRowCollector(reader === 'file' ? 'file' : 'assistant')
    for (const row of prepared.raw(true).safeIntegers(true).iterate())
      if (!collector.add(row)) break
    return collector.answer(prepared.columns().map(({ name }) => name))
  } catch (error) {
    if (!(error instanceof Error)) throw error
    return {
      why: error.message,
      ...(/more than one statement/.test(error.message) ? {} : { next: compareNames }),
    }
  }
}
