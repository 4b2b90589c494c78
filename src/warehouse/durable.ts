/** A transaction that survives a power cut: what it wrote is on the disk before whoever asked goes on. */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../schema/portable.ts'
import type { Db } from './session.ts'

/**
 * Pages of the mirror are committed without waiting for the disk, as they can be read again. That a request leaves is
 * written down first, and must not be forgotten.
 */
export function durably<T>(db: Db, kind: DatabaseKind, work: (trx: Db) => Promise<T>): Promise<T> {
  return kind === 'sqlite' ? onDisk(db, work) : onServer(db, work)
}

/** SQLite's setting belongs to the connection and cannot be changed within a transaction. */
function onDisk<T>(db: Db, work: (trx: Db) => Promise<T>): Promise<T> {
  return db.connection().execute(async (connection) => {
    const { rows } = await sql<{ synchronous: number }>`pragma synchronous`.execute(connection)
    await sql`pragma synchronous = full`.execute(connection)
    try {
      return await connection.transaction().execute(work)
    } finally {
      await sql`pragma synchronous = ${sql.lit(rows[0]?.synchronous ?? 2)}`.execute(connection)
    }
  })
}

function onServer<T>(db: Db, work: (trx: Db) => Promise<T>): Promise<T> {
  return db.transaction().execute(async (trx) => {
    await sql`set local synchronous_commit = on`.execute(trx)
    return work(trx)
  })
}
