/** The slots that a project's budget has, by what was learned about the service: for estimates. */

import type { BudgetPolicy, SlotLimits } from '../service/core/budget.ts'
import { steadyLimits } from '../service/core/estimate.ts'
import { decodeMargins } from '../service/core/margin-behaviours.ts'
import type { ProjectId } from '../values/project.ts'
import type { Warehouse } from './open.ts'

type BudgetedProject = BudgetPolicy & { readonly projectId: ProjectId }

export async function readSlotLimits(warehouse: Warehouse, project: BudgetedProject): Promise<SlotLimits> {
  return steadyLimits(project, decodeMargins(await warehouse.behaviours(project.projectId).read()))
}
