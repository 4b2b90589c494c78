/** Reads the status of one project without loading the rest of the warehouse, which would take longer than reading it. */

import type { StreamName } from '../../../schema/stream-specs.ts'
import type { BudgetPolicy } from '../../service/core/budget.ts'
import type { ProjectId } from '../../values/project.ts'
import type { EpochMs } from '../../values/time.ts'
import { type ConnectionPool, openKysely } from '../../warehouse/connection-pool.ts'
import { requireCurrentSchema } from '../../warehouse/migrate.ts'
import { openDatabase } from '../../warehouse/open-database.ts'
import { createProjectDb } from '../../warehouse/project-db.ts'
import { readStatus } from './status.ts'

/** As the arguments of `readStatus`. */
type StatusQuery = {
  readonly project: ProjectId
  readonly now: EpochMs
  readonly policy: BudgetPolicy
  readonly streams: readonly StreamName[]
}

/** `setting`: where the URL is from. Throws UserError, also if nothing was ever mirrored. */
export async function readStatusFrom(
  url: string,
  setting: string | undefined,
  { project, now, policy, streams }: StatusQuery,
) {
  const { db, kind } = await openDatabase(url, { access: 'read', readOnly: true, setting }, openReader)
  try {
    return await readStatus(createProjectDb(db, kind, project), now, policy, streams)
  } finally {
    await db.destroy()
  }
}

async function openReader(pool: ConnectionPool) {
  const db = openKysely(pool)
  try {
    await requireCurrentSchema(db, pool.kind)
    return { db, kind: pool.kind }
  } catch (error) {
    await db.destroy()
    throw error
  }
}
