/** Several queries that see one state of the database, whatever other processes commit meanwhile. */
import { type RawBuilder, sql } from 'kysely'
import type { DatabaseKind } from '../../schema/column-types.ts'
import type { Db } from './connection-pool.ts'

/** Runs a query within the snapshot. `Row`: as the columns of the query are declared. */
export type SnapshotReader = <Row>(query: RawBuilder<Row>) => Promise<Row[]>

/** Not `db.transaction()`: it would take the write lock of SQLite, and see each commit in Postgres. */
export function inSnapshot<T>(db: Db, kind: DatabaseKind, work: (read: SnapshotReader) => Promise<T>): Promise<T> {
  return withSnapshotOf(db, kind, (frozen) => work((query) => query.execute(frozen).then(({ rows }) => rows)))
}

/** `work` must use `frozen` only: other statements may wait for this connection. */
export function withSnapshotOf<T>(db: Db, kind: DatabaseKind, work: (frozen: Db) => Promise<T>): Promise<T> {
  const begin = kind === 'sqlite' ? sql`begin` : sql`begin isolation level repeatable read, read only`
  return db.connection().execute(async (connection) => {
    await begin.execute(connection)
    try {
      return await work(connection)
    } finally {
      // Nothing was written. An error here would hide the one of the query.
      await sql`rollback`.execute(connection).catch(() => {})
    }
  })
}
