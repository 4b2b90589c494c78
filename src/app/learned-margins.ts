/** The slots that a project's budget has, by what was learned about the service: for estimates. */
import type { ProjectId } from '../core/project.ts'
import type { BudgetPolicy, SlotLimits } from '../core/rate-limit/budget.ts'
import { steadyLimits } from '../core/rate-limit/estimate.ts'
import { decodeMargins } from '../core/rate-limit/margin-behaviours.ts'
import type { Warehouse } from '../warehouse/open.ts'

type BudgetedProject = BudgetPolicy & { readonly projectId: ProjectId }

export async function readSlotLimits(warehouse: Warehouse, project: BudgetedProject): Promise<SlotLimits> {
  return steadyLimits(project, decodeMargins(await warehouse.behaviours(project.projectId).read()))
}
