/** The one place that joins the rooms. */
import type { Work } from './cli/work.ts'
import { UserError } from './core/user-error.ts'

const missing = async () => {
  throw new UserError({ what: 'cannot work', why: 'this part is not built yet', next: 'wait', exitCode: 1 })
}
export const syncProject: Work['syncProject'] = missing
export const checkProject: Work['checkProject'] = missing
export const verifyProject: Work['verifyProject'] = missing
export const statusOf: Work['statusOf'] = missing
export const migrateWarehouse: Work['migrateWarehouse'] = missing
