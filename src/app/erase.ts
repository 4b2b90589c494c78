/** Opens what the erasure of a visitor needs. */
import type { Config, ProjectConfig } from '../config/config.ts'
import type { ErasedRows, RemainsReport } from '../maintenance/maintenance.ts'
import { searchRemains } from '../maintenance/search-remains.ts'
import { countErased, erase, finishErasure } from '../maintenance/sql/erase.ts'
import type { ProjectName } from '../values/project.ts'
import { parseDatabaseUrl } from '../warehouse/location.ts'
import { withWarehouse } from './open.ts'

export type EraseReport = {
  readonly project: ProjectName
  readonly dryRun: boolean
  /** An earlier run has erased the visitor, perhaps not to its end. */
  readonly isRepeated: boolean
  readonly rows: ErasedRows
  /** What was found of the erased values afterwards; null: nothing was erased. */
  readonly search: RemainsReport | null
}

/**
 * Throws UserError if nothing is stored of the visitor and nothing was erased, or a write-back to
 * them is in flight.
 */
export function eraseVisitor(
  config: Config,
  { name, projectId, analytics }: ProjectConfig,
  {
    visitor,
    by,
    dryRun,
  }: { readonly visitor: string; readonly by: string; readonly dryRun: boolean },
): Promise<EraseReport> {
  return withWarehouse(config, async (warehouse) => {
    const context = warehouse.projectDb(projectId)
    const erasure = { visitor, calls: analytics.calls }
    if (dryRun)
      return { project: name, dryRun, ...(await countErased(context, erasure)), search: null }
    const erased = await erase(context, erasure, by)
    const search = await searchRemains(warehouse, parseDatabaseUrl(config.databaseUrl), erased)
    await finishErasure(context, erasure)
    const { rows, isRepeated } = erased
    return { project: name, dryRun, isRepeated, rows, search }
  })
}
