/** What every part of one project's warehouse needs at hand. */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import type { DiscoveredFields } from '../discovered-columns/discovered-fields.ts'
import type { Db } from '../database/connection-pool.ts'
import type { EscapeCount } from './encode-value.ts'
import type { UpsertRows } from './upsert.ts'

export type ProjectContext = {
  readonly db: Db
  readonly kind: DatabaseKind
  readonly project: string
  readonly upsert: UpsertRows
  readonly fields: DiscoveredFields
  readonly escapeCount: EscapeCount
  /** Milliseconds since 1970. */
  readonly clock: () => number
  /**
   * Writes of one project go one after the other: each is short, and none can then wait for another that waits for it.
   */
  readonly runSerially: <T>(write: () => Promise<T>) => Promise<T>
  /** The run that rows are stored for; null outside of one. */
  readonly currentRunId: () => string | null
}

/** Does one thing after the other, whatever became of the one before. */
export function createSerialQueue(): ProjectContext['runSerially'] {
  let last: Promise<unknown> = Promise.resolve()
  return (write) => {
    const current = last.then(write)
    last = current.catch(() => {})
    return current
  }
}

/**
 * One transaction that writes rows of a project, across processes one after the other. Two streams of a project touch the
 * same rows in different orders (a conversation and its pending children), which would deadlock. SQLite has one writer anyway.
 */
export function inTransaction<T>(
  context: Pick<ProjectContext, 'db' | 'kind' | 'project'>,
  work: (trx: Db) => Promise<T>,
): Promise<T> {
  return context.db.transaction().execute(async (trx) => {
    if (context.kind === 'postgres')
      await sql`select pg_advisory_xact_lock(hashtext(${`deskmirror.write ${context.project}`}))`.execute(trx)
    return work(trx)
  })
}
