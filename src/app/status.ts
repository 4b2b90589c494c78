/** Reads the status of a project without loading the rest of the warehouse, which would take longer than reading it. */
import type { Config, ProjectConfig } from '../config/config.ts'
import type { StatusReport } from '../maintenance/maintenance.ts'
import { readStatus as readStatusOf } from '../maintenance/sql/status.ts'
import { type ConnectionPool, openKysely } from '../warehouse/connection-pool.ts'
import { requireCurrentSchema } from '../warehouse/migrate.ts'
import { openDatabase } from '../warehouse/open-database.ts'
import { createProjectDb } from '../warehouse/project-db.ts'

/** Throws UserError, also if nothing was ever mirrored. */
export async function readStatus(config: Config, project: ProjectConfig): Promise<StatusReport> {
  const { name, projectId, streams } = project
  const options = { access: 'read', readOnly: true, setting: config.databaseSetting } as const
  const { db, kind } = await openDatabase(config.databaseUrl, options, openReader)
  try {
    const status = await readStatusOf(createProjectDb(db, kind, projectId), Date.now(), project, streams)
    return { ...status, project: name }
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
