/** Transactions that write rows of a project, that survive a power failure, and snapshots. */
import { type RawBuilder, sql } from 'kysely'
import pRetry from 'p-retry'
import type { DatabaseKind } from '../../schema/column-types.ts'
import type { EpochMs } from '../values/time.ts'
import { errorCode } from '../values/user-error.ts'
import { beginSnapshot, beginStatements, type Db, inPipeline } from './connection-pool.ts'
import { quoteText, readClock } from './dialect.ts'
import type { ProjectDb } from './project-db.ts'

/** `clock`: within the transaction, that of the database. */
type Context = { readonly db: Db; readonly kind: DatabaseKind; readonly clock?: () => EpochMs }

/**
 * Processes run theirs one after the other: two streams touch the same rows in different orders (a
 * conversation and its pending children), which could deadlock. SQLite has one writer anyway.
 */
export function inTransaction<C extends ProjectDb, T>(
  context: C,
  work: (trx: C) => Promise<T>,
): Promise<T> {
  const { db, kind, project } = context
  const inTrx = (trx: Db) => work({ ...context, db: trx })
  if (kind === 'sqlite') return undoingInMemory(db, inTrx)
  const name = quoteText(`deskmirror.write ${project}`)
  const lock = `select pg_advisory_xact_lock(hashtext(${name}))`
  return inPipeline(db, `${beginStatements.postgres}; ${lock}`, inTrx)
}

/**
 * SQLite keeps the pages that a statement changes, to be able to undo it: from 16 pages on in a
 * temporary file, also for all later statements. Here they are a few megabytes. Elsewhere sorting
 * may need more memory, and the setting cannot be changed within a transaction.
 */
function undoingInMemory<T>(db: Db, work: (trx: Db) => Promise<T>): Promise<T> {
  return db.connection().execute(async (connection) => {
    await sql`pragma temp_store = memory`.execute(connection)
    try {
      return await connection.transaction().execute(work)
    } finally {
      // If the transaction could not be ended, its own error counts.
      await sql`pragma temp_store = default`.execute(connection).catch(() => {})
    }
  })
}

/**
 * Pages of the mirror can be read again; that a write-back is about to be sent must not be lost.
 * `work` may run several times: it is repeated after a deadlock.
 */
export function inDurableTransaction<C extends Context, T>(
  context: C,
  work: (trx: C) => Promise<T>,
): Promise<T> {
  return retryOnDeadlock(() => inDurableTransactionOnce(context, work))
}

/** For work that cannot be repeated, because it consumes its input. */
export function inDurableTransactionOnce<C extends Context, T>(
  context: C,
  work: (trx: C) => Promise<T>,
): Promise<T> {
  const { db, kind, clock } = context
  if (kind === 'sqlite') return sqliteDurably(db, (trx) => work({ ...context, db: trx }))
  return postgresDurably(db, async (trx) =>
    work({ ...context, db: trx, ...(clock && { clock: await readClock(trx, kind) }) }),
  )
}

/** Work that Postgres ended because of a deadlock with other SQL (40P01). */
export function retryOnDeadlock<T>(work: () => Promise<T>): Promise<T> {
  const shouldRetry = ({ error }: { readonly error: Error }) => errorCode(error) === '40P01'
  return pRetry(work, { retries: 10, minTimeout: 20, maxTimeout: 1000, shouldRetry })
}

/** SQLite's setting belongs to the connection and cannot be changed within a transaction. */
function sqliteDurably<T>(db: Db, work: (trx: Db) => Promise<T>): Promise<T> {
  return db.connection().execute(async (connection) => {
    const { rows } = await sql<{ synchronous: number }>`pragma synchronous`.execute(connection)
    await sql`pragma synchronous = full`.execute(connection)
    try {
      return await connection.transaction().execute(work)
    } finally {
      const before = sql.lit(rows[0]?.synchronous ?? 2)
      // If the transaction could not be ended, its own error counts.
      await sql`pragma synchronous = ${before}`.execute(connection).catch(() => {})
    }
  })
}

function postgresDurably<T>(db: Db, work: (trx: Db) => Promise<T>): Promise<T> {
  return db.transaction().execute(async (trx) => {
    await sql`set local synchronous_commit = on`.execute(trx)
    return work(trx)
  })
}

/** Runs a query within the snapshot. `Row`: as the columns of the query are declared. */
export type SnapshotReader = <Row>(query: RawBuilder<Row>) => Promise<Row[]>

/** `db.transaction()` would take SQLite's write lock, and see each commit in Postgres. */
export function inSnapshot<T>(
  db: Db,
  kind: DatabaseKind,
  work: (read: SnapshotReader) => Promise<T>,
): Promise<T> {
  return withSnapshotOf(db, kind, (frozen) =>
    work((query) => query.execute(frozen).then(({ rows }) => rows)),
  )
}

/** `work` must use `frozen` only: other statements may wait for this connection. */
export function withSnapshotOf<T>(
  db: Db,
  kind: DatabaseKind,
  work: (frozen: Db) => Promise<T>,
): Promise<T> {
  return db.connection().execute(async (connection) => {
    await sql.raw(beginSnapshot[kind]).execute(connection)
    try {
      return await work(connection)
    } finally {
      // Nothing was written. An error here would hide the one of the query.
      await sql`rollback`.execute(connection).catch(() => {})
    }
  })
}
