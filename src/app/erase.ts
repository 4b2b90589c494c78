/** Erases a visitor, and records that it was done, without who it was. */
import type { Config, ProjectConfig } from '../config/config.ts'
import type { ErasedRows } from '../maintenance/maintenance.ts'
import { countErased, erase } from '../maintenance/sql/erase.ts'
import { createAuditLog } from '../outbox/sql/audit-log.ts'
import type { ProjectName } from '../values/project.ts'
import { withWarehouse } from './open.ts'

export type EraseReport = { readonly project: ProjectName; readonly dryRun: boolean; readonly rows: ErasedRows }

/** Throws UserError if nothing is stored of the visitor, or a write-back to them is in flight. */
export function eraseVisitor(
  config: Config,
  { name, ...project }: ProjectConfig,
  { visitor, by, dryRun }: { readonly visitor: string; readonly by: string; readonly dryRun: boolean },
): Promise<EraseReport> {
  return withWarehouse(config, async ({ db, projectDb }) => {
    const context = projectDb(project.projectId)
    if (dryRun) return { project: name, dryRun, rows: await countErased(context, visitor) }
    const rows = await erase(context, visitor, by)
    const total = Object.values(rows).reduce((sum, some) => sum + some, 0)
    const event = { action: 'visitor_erased', subject: null, count: total, detail: 'by the command line' }
    await createAuditLog(db).append({ project: project.projectId, person: by, role: 'approver', ...event }, Date.now())
    return { project: name, dryRun, rows }
  })
}
