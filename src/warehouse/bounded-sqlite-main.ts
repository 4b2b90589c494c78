/** The process behind `bounded-sqlite.ts`: runs one statement after the other, each of which SQLite itself must call reading. */
import { Worker } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { compareNames, createRowCollector } from './bounded-answer.ts'
import type { SqliteRequest, SqliteResponse } from './bounded-sqlite.ts'
import { distrustSchema, narrowInteger } from './sqlite.ts'

const [, , path = '', limits = ''] = process.argv
const database = new Database(path, { readonly: true, fileMustExist: true, timeout: 1000 })
distrustSchema(database)
// What a statement sorts stays in the memory of this process, which is limited, instead of filling a disk.
database.pragma('temp_store = memory')

const maxMemoryBytes = 512 * 2 ** 20

/**
 * A statement holds the thread that runs it, so another one ends the process: when it takes too much memory, or when nobody is
 * left who would end it.
 */
const guard = `const { ppid } = process
setInterval(() => {
  if (process.ppid !== ppid || process.memoryUsage.rss() > ${maxMemoryBytes}) process.kill(process.pid, 'SIGKILL')
}, 100)`
new Worker(guard, { eval: true }).unref()

process.on('message', ({ statement }: SqliteRequest) => process.send?.(answer(statement)))

function answer(statement: string): SqliteResponse {
  const why = whyRefused(statement)
  if (why !== null) return { why }
  try {
    const prepared = database.prepare<[], unknown[]>(statement)
    if (!prepared.reader || !prepared.readonly) return { why: 'it writes' }
    prepared.raw(true).safeIntegers(true)
    const collector = createRowCollector(JSON.parse(limits))
    for (const row of prepared.iterate()) if (!collector.add(row.map(narrowInteger))) break
    return { answer: collector.answer(prepared.columns().map(({ name }) => name)) }
  } catch (error) {
    if (!(error instanceof Error)) throw error
    const isSeveral = /more than one statement/.test(error.message)
    return { why: error.message, ...(isSeveral ? {} : { next: compareNames }) }
  }
}

/** A pragma takes effect when it is prepared, so SQLite is only asked about statements that begin like one that reads. */
function whyRefused(statement: string): string | null {
  const code = statement.replace(
    /"[^"]*"?|`[^`]*`?|\[[^\]]*\]?|'[^']*'?|--[^\n]*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?/g,
    (part) => (/^['/-]/.test(part) ? ' ' : part),
  )
  if (/\bpragma_/i.test(code)) return 'it reads a pragma'
  return /^\s*(explain\s+(query\s+plan\s+)?)?(select|with|values)\b/i.test(code) ? null : 'it is no SELECT'
}
