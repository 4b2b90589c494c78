/** Says that this machine's clock differs from the database's, by which decisions, graces, expiries and claims go. */
import type { ProjectConfig } from '../config/config.ts'
import type { Ms } from '../core/time.ts'
import type { Warehouse } from '../warehouse/open.ts'

/** Longer than a slow answer of the database takes. */
const toleratedMs: Ms = 5000

/** Null: it does not. */
export async function findClockNotice(
  warehouse: Pick<Warehouse, 'readClock'>,
  { projectId }: Pick<ProjectConfig, 'projectId'>,
): Promise<string | null> {
  const clock = await warehouse.readClock(projectId)
  const offBy = Date.now() - clock()
  if (Math.abs(offBy) <= toleratedMs) return null
  const off = `${Math.round(Math.abs(offBy) / 1000)} s ${offBy > 0 ? 'ahead of' : 'behind'}`
  return `the clock of this machine is ${off} the database's, which decides when write-backs leave`
}
