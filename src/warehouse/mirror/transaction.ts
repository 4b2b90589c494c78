/** One transaction of a project's news. Processes that write for the same project take turns. */
import { sql } from 'kysely'
import type { Db } from '../database/connection-pool.ts'
import type { ProjectContext } from './project-context.ts'

/**
 * Two streams of a project touch the same rows in different orders (a conversation and what is due under it); taking turns,
 * none can wait for the other that waits for it. SQLite has one writer anyway.
 */
export function inTransaction<T>(context: Pick<ProjectContext, 'db' | 'kind' | 'project'>, work: (trx: Db) => Promise<T>): Promise<T> {
  return context.db.transaction().execute(async (trx) => {
    if (context.kind === 'postgres')
      await sql`select pg_advisory_xact_lock(hashtext(${`deskmirror.write ${context.project}`}))`.execute(trx)
    return work(trx)
  })
}
