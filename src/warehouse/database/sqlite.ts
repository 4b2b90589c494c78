/** SQLite: one connection, write-ahead log, statements prepared once. */
import { setTimeout as delay } from 'node:timers/promises'
import Database from 'better-sqlite3'
import type { Ran, Session, Sessions } from './session.ts'
import { createPrivate, watchFile } from './sqlite-file.ts'
import { optimizeAll } from './statistics.ts'

export type SqliteOptions = {
  readonly mustExist: boolean
  /** `full` also survives a power cut right after a commit; `normal` may lose the last commits, never the file. */
  readonly synchronous: 'normal' | 'full'
}

/** SQLite itself waits without letting anything else in this process happen, so it waits for very short only. */
const blockingMs = 5
/** How long another writer may keep us waiting in all. */
const patienceMs = 30_000

/** Throws better-sqlite3's errors. Readers never block the writer nor the other way round. */
export function sqliteSessions(path: string, options: SqliteOptions): Sessions {
  if (!options.mustExist) createPrivate(path)
  const database = new Database(path, { fileMustExist: options.mustExist, timeout: patienceMs })
  try {
    database.pragma('journal_mode = wal')
    database.pragma(`synchronous = ${options.synchronous}`)
    // In KiB. Keys are random: the upper pages of the indexes should stay at hand. More is not measurably faster.
    database.pragma('cache_size = -12288')
    database.pragma(`busy_timeout = ${blockingMs}`)
    // Rows of each index that `analyze` looks at: tens of milliseconds for a table of any size.
    database.pragma('analysis_limit = 1000')
    // All processes of a machine agree about this clock, and nobody can set it. It begins anew when the machine is booted:
    // then it is lower than what was noted before, or as much time has passed as it shows.
    database.function('machine_ms', { deterministic: false }, () => Number(process.hrtime.bigint()) / 1e6)
  } catch (error) {
    database.close()
    throw error
  }
  const prepare = cachedStatements(database)
  const requireFile = watchFile(path)
  const attempt = (text: string, parameters: readonly unknown[]) => {
    if (bounds.test(text)) requireFile()
    return execute(prepare(text), parameters)
  }
  const run = (text: string, parameters: readonly unknown[]) => whenFree(database, () => attempt(text, parameters))
  const take = oneAtATime(run)
  // Nobody is let in between two statements of a transaction, so the one connection does; a second one would fight it for
  // the file.
  const apart = (): Sessions => ({ kind: 'sqlite', take, apart, close: async () => {} })
  const close = async () => {
    if (!options.mustExist) optimize(database)
    database.close()
  }
  return { kind: 'sqlite', take, apart, close }
}

/** Statistics for whoever asks next, of tables that have none or have grown tenfold; nothing depends on it. */
function optimize(database: Database.Database): void {
  try {
    if (!database.inTransaction) database.pragma(optimizeAll)
  } catch {}
}

/** Where it is asked whether the file is still the one that was opened. */
const bounds = /^(begin|commit)/

/** There is one connection: who has it keeps it to the end of its transaction, and the others wait in line. */
function oneAtATime(run: Session['run']): Sessions['take'] {
  let free: Promise<void> = Promise.resolve()
  return async () => {
    const before = free
    const { promise, resolve } = Promise.withResolvers<void>()
    free = promise
    await before
    return { run, release: () => resolve() }
  }
}

/**
 * Waits for another writer, which may be in this very process: then only waiting asynchronously lets it finish. Within a
 * transaction there is nothing to wait for: it began as a writer.
 */
async function whenFree(database: Database.Database, attempt: () => Ran): Promise<Ran> {
  const deadline = performance.now() + patienceMs
  for (;;) {
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error) || database.inTransaction || performance.now() > deadline) throw error
    }
    await delay(2 + Math.random() * 10)
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
}

type Statement = Database.Statement<unknown[], Record<string, unknown>>

/** Statements by their text. Few texts are ever used; what runs over is forgotten, oldest first. */
function cachedStatements(database: Database.Database): (text: string) => Statement {
  const known = new Map<string, Statement>()
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    const made = database.prepare<unknown[], Record<string, unknown>>(text)
    if (made.reader) made.safeIntegers(true)
    known.set(text, made)
    const [oldest] = known.keys()
    if (known.size > 400 && oldest !== undefined) known.delete(oldest)
    return made
  }
}

function execute(statement: Statement, parameters: readonly unknown[]): Ran {
  if (!statement.reader) return { rows: [], affected: statement.run(parameters).changes }
  const rows = statement.all(parameters)
  for (const row of rows) narrow(row)
  return { rows, affected: rows.length }
}

/** Bigints that fit into a number become one, in place. */
function narrow(row: Record<string, unknown>): void {
  for (const name in row) {
    const value = row[name]
    if (typeof value === 'bigint' && BigInt.asIntN(54, value) === value) row[name] = Number(value)
  }
}
