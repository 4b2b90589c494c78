/** SQLite: one connection, write-ahead log, statements prepared once. */
import { setTimeout as delay } from 'node:timers/promises'
import Database from 'better-sqlite3'
import type { StatementResult, DbConnection, ConnectionPool } from './connection-pool.ts'
import { createPrivateFile, createFileCheck } from './sqlite-file.ts'
import { optimizeAllTables } from './statistics.ts'

export type SqliteOptions = {
  readonly mustExist: boolean
  /** `full` also survives a power cut right after a commit; `normal` may lose the last commits, never the file. */
  readonly synchronous: 'normal' | 'full'
}

/** SQLite itself waits without letting anything else in this process happen, so it waits for very short only. */
const busyTimeoutMs = 5
/** How long another writer may keep us waiting in all. */
const maxLockWaitMs = 30_000

/** Throws better-sqlite3's errors. Readers never block the writer nor the other way round. */
export function openSqlitePool(path: string, options: SqliteOptions): ConnectionPool {
  if (!options.mustExist) createPrivateFile(path)
  const database = new Database(path, { fileMustExist: options.mustExist, timeout: maxLockWaitMs })
  try {
    database.pragma('journal_mode = wal')
    database.pragma(`synchronous = ${options.synchronous}`)
    // In KiB. Keys are random: the upper pages of the indexes should stay at hand. More is not measurably faster.
    database.pragma('cache_size = -12288')
    database.pragma(`busy_timeout = ${busyTimeoutMs}`)
    // Rows of each index that `analyze` looks at: tens of milliseconds for a table of any size.
    database.pragma('analysis_limit = 1000')
    // All processes of a machine agree about this clock, and nobody can set it. It begins anew when the machine is booted:
    // then it is lower than what was noted before, or as much time has passed as it shows.
    database.function('machine_ms', { deterministic: false }, () => Number(process.hrtime.bigint()) / 1e6)
  } catch (error) {
    database.close()
    throw error
  }
  const prepare = createStatementCache(database)
  const assertSameFile = createFileCheck(path)
  const attempt = (text: string, parameters: readonly unknown[]) => {
    if (transactionBoundary.test(text)) assertSameFile()
    return runStatement(prepare(text), parameters)
  }
  const run = (text: string, parameters: readonly unknown[]) => retryWhileBusy(database, () => attempt(text, parameters))
  const acquire = serializeAccess(run)
  // Nobody is let in between two statements of a transaction, so the one connection does; a second one would fight it for
  // the file.
  const openSeparate = (): ConnectionPool => ({ kind: 'sqlite', acquire, openSeparate, close: async () => {} })
  const close = async () => {
    if (!options.mustExist) optimizeOnClose(database)
    database.close()
  }
  return { kind: 'sqlite', acquire, openSeparate, close }
}

/** Statistics for whoever asks next, of tables that have none or have grown tenfold; nothing depends on it. */
function optimizeOnClose(database: Database.Database): void {
  try {
    if (!database.inTransaction) database.pragma(optimizeAllTables)
  } catch {}
}

/** Where it is asked whether the file is still the one that was opened. */
const transactionBoundary = /^(begin|commit)/

/** There is one connection: who has it keeps it to the end of its transaction, and the others wait in line. */
function serializeAccess(run: DbConnection['run']): ConnectionPool['acquire'] {
  let turnEnded: Promise<void> = Promise.resolve()
  return async () => {
    const previous = turnEnded
    const { promise, resolve } = Promise.withResolvers<void>()
    turnEnded = promise
    await previous
    return { run, release: () => resolve() }
  }
}

/**
 * Waits for another writer, which may be in this very process: then only waiting asynchronously lets it finish. Within a
 * transaction there is nothing to wait for: it began as a writer.
 */
async function retryWhileBusy(database: Database.Database, attempt: () => StatementResult): Promise<StatementResult> {
  const deadline = performance.now() + maxLockWaitMs
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
function createStatementCache(database: Database.Database): (text: string) => Statement {
  const cache = new Map<string, Statement>()
  return (text) => {
    const found = cache.get(text)
    if (found !== undefined) return found
    const statement = database.prepare<unknown[], Record<string, unknown>>(text)
    if (statement.reader) statement.safeIntegers(true)
    cache.set(text, statement)
    const [oldest] = cache.keys()
    if (cache.size > 400 && oldest !== undefined) cache.delete(oldest)
    return statement
  }
}

function runStatement(statement: Statement, parameters: readonly unknown[]): StatementResult {
  if (!statement.reader) return { rows: [], affectedRows: statement.run(parameters).changes }
  const rows = statement.all(parameters)
  for (const row of rows) narrowIntegers(row)
  return { rows, affectedRows: rows.length }
}

/** Bigints that fit into a number become one, in place. */
function narrowIntegers(row: Record<string, unknown>): void {
  for (const name in row) {
    const value = row[name]
    if (typeof value === 'bigint' && BigInt.asIntN(54, value) === value) row[name] = Number(value)
  }
}
