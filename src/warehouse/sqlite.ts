/** SQLite: one connection, write-ahead log, statements prepared once. */
import { setTimeout as delay } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { toCanonicalJson } from '../values/json.ts'
import type {
  ColumnOrigin,
  ConnectionPool,
  DbConnection,
  LocalReads,
  StatementResult,
  ValueList,
} from './connection-pool.ts'
import { createFileCheck, createPrivateFile } from './sqlite-file.ts'

/** SQLite's own waiting blocks the whole process, so it is kept very short. */
const busyTimeoutMs = 5
/** How long a statement waits for another writer in total. */
const maxLockWaitMs = 30_000

/** Throws better-sqlite3's errors. Readers and the writer never block each other. */
export function openSqlitePool(
  path: string,
  {
    mustExist,
    synchronous,
    readOnly = false,
    addFunctions,
  }: {
    readonly mustExist: boolean
    /** `full` survives a power cut; `normal` may lose the last commits, never the file. */
    readonly synchronous: 'normal' | 'full'
    /** The file may come from anyone: nothing is written, its schema's functions have no effects. */
    readonly readOnly?: boolean
    /** Called for the open connection, to add functions to its SQL or to replace SQLite's own. */
    readonly addFunctions?: (database: Database.Database) => void
  },
): ConnectionPool {
  if (!mustExist) createPrivateFile(path)
  const database = new Database(path, {
    fileMustExist: mustExist,
    readonly: readOnly,
    timeout: maxLockWaitMs,
  })
  try {
    if (readOnly) distrustSchema(database)
    else database.pragma('journal_mode = wal')
    database.pragma(`synchronous = ${synchronous}`)
    // In KiB: the upper pages of the indexes stay cached. More is not measurably faster.
    database.pragma('cache_size = -8192')
    // Pages of the log, 64 MB, until it is copied: most are written several times by then.
    database.pragma('wal_autocheckpoint = 16000')
    // What the log of a long transaction took beyond that is given back.
    database.pragma(`journal_size_limit = ${64 << 20}`)
    database.pragma(`busy_timeout = ${busyTimeoutMs}`)
    // Rows of each index that `analyze` samples: tens of milliseconds for a table of any size.
    database.pragma('analysis_limit = 1000')
    // A clock that all processes of the machine share and nobody can set. It restarts at each boot:
    // then it is earlier than the recorded time, or at least that much has passed.
    database.function(
      'machine_ms',
      { deterministic: false },
      () => Number(process.hrtime.bigint()) / 1e6,
    )
    // Equal for JSON whose fields are in another order.
    database.function('canonical_json', { deterministic: true }, (text) =>
      typeof text === 'string' ? toCanonicalJson(text) : text,
    )
    addFunctions?.(database)
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
  const run = (text: string, parameters: readonly unknown[]) =>
    retryWhileBusy(database, () => attempt(text, parameters))
  const acquire = serializeAccess(run, {
    async *readBatches(text, parameters) {
      yield* readBatches(database, text, parameters)
    },
    columnOrigins: async (text) => columnOrigins(database, text),
  })
  const close = async () => {
    if (!mustExist) optimizeOnClose(database)
    database.close()
  }
  return { kind: 'sqlite', acquire, close }
}

/**
 * Of all tables (0x10000), not only those that were queried, within the analysis limit (0x10).
 * Source: sqlite.org/pragma.html#pragma_optimize, read 2026-11-21.
 */
export const optimizeAllTables = 'optimize = 0x10012'

/** Statistics for tables that have none or have grown tenfold. A failure does not matter. */
function optimizeOnClose(database: Database.Database): void {
  try {
    if (!database.inTransaction) database.pragma(optimizeAllTables)
  } catch {}
}

/** better-sqlite3 opens every database as defensive. */
export function distrustSchema(database: Database.Database): void {
  database.pragma('trusted_schema = off')
}

/** The statements before which the file is checked. */
const transactionBoundary = /^(begin|commit)/

/** One connection: its user keeps it until the transaction ends, and others wait in order. */
export function serializeAccess(
  run: DbConnection['run'],
  local?: LocalReads,
): ConnectionPool['acquire'] {
  let lastRelease: Promise<void> = Promise.resolve()
  return async () => {
    const previous = lastRelease
    const { promise, resolve } = Promise.withResolvers<void>()
    lastRelease = promise
    await previous
    return { run, ...(local && { local }), release: () => resolve() }
  }
}

/**
 * Waits for another writer, asynchronously, as it may be in this process. A transaction has the
 * write lock since its start.
 */
async function retryWhileBusy(
  database: Database.Database,
  attempt: () => StatementResult,
): Promise<StatementResult> {
  const deadline = performance.now() + maxLockWaitMs
  for (;;) {
    try {
      return attempt()
    } catch (error) {
      const isBusy = error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
      if (!isBusy || database.inTransaction || performance.now() > deadline) throw error
    }
    await delay(2 + Math.random() * 10)
  }
}

type Statement = Database.Statement<unknown[], Record<string, unknown>>

/** Few texts are ever used; beyond the limit the oldest is dropped. */
export function createStatementCache(database: Database.Database): (text: string) => Statement {
  const cache = new Map<string, Statement>()
  return (text) => {
    const cached = cache.get(text)
    if (cached !== undefined) return cached
    const statement = database.prepare<unknown[], Record<string, unknown>>(text)
    if (statement.reader) statement.safeIntegers(true)
    cache.set(text, statement)
    const [oldest] = cache.keys()
    if (cache.size > 400 && oldest !== undefined) cache.delete(oldest)
    return statement
  }
}

export function runStatement(
  statement: Statement,
  parameters: readonly unknown[],
): StatementResult {
  if (!statement.reader) return { rows: [], affectedRows: statement.run(parameters).changes }
  const rows = statement.all(parameters)
  for (const row of rows) for (const name in row) row[name] = narrowInteger(row[name])
  return { rows, affectedRows: rows.length }
}

/** A number if it fits into one. */
function narrowInteger(value: unknown): unknown {
  return typeof value === 'bigint' && BigInt.asIntN(54, value) === value ? Number(value) : value
}

/** See `LocalReads`. */
export function* readBatches(
  database: Database.Database,
  text: string,
  parameters: readonly unknown[],
): Generator<readonly ValueList[]> {
  const statement = database.prepare<unknown[], unknown[]>(text).raw(true).safeIntegers(true)
  let [batch, size]: [ValueList[], number] = [[], 0]
  for (const row of statement.iterate(...parameters)) {
    batch.push(row.map(narrowInteger))
    size += rowSize(row)
    if (size < targetSize && batch.length < maxRows) continue
    yield batch
    ;[batch, size] = [[], 0]
  }
  if (batch.length > 0) yield batch
}

export function columnOrigins(database: Database.Database, text: string): readonly ColumnOrigin[] {
  const columns = database.prepare(text).columns()
  return columns.map(({ table, column, type }) => ({ table, column, declaredType: type }))
}

/** Of a batch of rows of a large table, in characters and in rows. */
export const targetSize = 1_000_000
export const maxRows = 1000

export function rowSize(row: ValueList): number {
  return row.reduce((sum: number, value) => sum + (typeof value === 'string' ? value.length : 8), 0)
}
