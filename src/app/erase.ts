/** Opens what the erasure of a visitor needs. */
import type { Config, ProjectConfig } from '../config/config.ts'
import type { ErasedRows } from '../maintenance/maintenance.ts'
import { countErased, erase } from '../maintenance/sql/erase.ts'
import type { ProjectName } from '../values/project.ts'
import { withWarehouse } from './open.ts'

export type EraseReport = { readonly project: ProjectName; readonly dryRun: boolean; readonly rows: ErasedRows }

/** Throws UserError if nothing is stored of the visitor, or a write-back to them is in flight. */
export function eraseVisitor(
  config: Config,
  { name, ...project }: ProjectConfig,
  { visitor, by, dryRun }: { readonly visitor: string; readonly by: string; readonly dryRun: boolean },
): Promise<EraseReport> {
  return withWarehouse(config, async ({ projectDb }) => {
    const context = projectDb(project.projectId)
    return { project: name, dryRun, rows: await (dryRun ? countErased(context, visitor) : erase(context, visitor, by)) }
  })
}
