/** The one place that joins the rooms. */
import { UserError } from './core/user-error.ts'

const missing = async (): Promise<never> => {
  throw new UserError({ what: 'cannot work', why: 'this part is not built yet', next: 'wait', exitCode: 1 })
}
export const syncProject = missing
export const checkProject = missing
export const verifyProject = missing
export const statusOf = missing
export const migrateWarehouse = missing
