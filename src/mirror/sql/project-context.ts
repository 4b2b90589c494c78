/** What the writes of a project's mirror share: its transactions, one after the other. */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import type { ProjectId } from '../../values/project.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { acquireLock } from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { DiscoveredFields } from './discovered-columns/discovered-fields.ts'

export type ProjectContext = ProjectDb & {
  readonly fields: DiscoveredFields
  /** The sync run that stores rows now; null outside of a run. Mutable. */
  readonly run: { id: string | null }
}

/**
 * A transaction that writes rows of a project; processes run theirs one after the other. Two streams touch the same
 * rows in different orders (a conversation and its pending children), which could deadlock. SQLite has one writer
 * anyway.
 */
export function inTransaction<C extends ProjectDb, T>(context: C, work: (trx: C) => Promise<T>): Promise<T> {
  const run = context.kind === 'sqlite' ? undoingInMemory : inPlainTransaction
  return run(context.db, async (db) => {
    await acquireWriteLock(db, context.kind, context.project)
    return work({ ...context, db })
  })
}

function inPlainTransaction<T>(db: Db, work: (trx: Db) => Promise<T>): Promise<T> {
  return db.transaction().execute(work)
}

/**
 * SQLite keeps the pages that a statement changes, to be able to undo it. From 16 pages on it writes them to a temporary
 * file, and so do all later statements of the transaction. Here they are a few megabytes at most. Elsewhere sorting may
 * need more memory, so the setting is only for these transactions; it cannot be changed within one.
 */
function undoingInMemory<T>(db: Db, work: (trx: Db) => Promise<T>): Promise<T> {
  return db.connection().execute(async (connection) => {
    await sql`pragma temp_store = memory`.execute(connection)
    try {
      return await inPlainTransaction(connection, work)
    } finally {
      // If the transaction could not be ended, its own error counts.
      await sql`pragma temp_store = default`.execute(connection).catch(() => {})
    }
  })
}

export function acquireWriteLock(trx: Db, kind: DatabaseKind, project: ProjectId): Promise<void> {
  return acquireLock(trx, kind, `deskmirror.write ${project}`)
}
