/** Lets a project send again whose warehouse went back in time. */
import type { Config, ProjectConfig } from '../config/config.ts'
import { createLog } from '../log.ts'
import { createSends } from '../outbox/sql/sending.ts'
import type { ProjectName } from '../values/project.ts'
import { UserError } from '../values/user-error.ts'
import { withOutbox } from './outbox.ts'
import { withRequestBudgets } from './request-budgets.ts'
import { openSendRecord } from './send-record.ts'

/** Throws UserError if the warehouse did not go back in time, and its sending is not held. */
export function resumeRestored(
  config: Config,
  project: ProjectConfig,
  { by, queued }: { readonly by: string; readonly queued: 'draft' | 'send' },
): Promise<{ readonly project: ProjectName; readonly drafts: number }> {
  return withOutbox(config, project, async (_, warehouse) => {
    const resume = () => createSends(warehouse.projectDb(project.projectId)).resume(by, queued)
    let resumed = await resume()
    if (resumed === null) {
      // Nothing has tried to send since the restore, so it is noticed only now.
      const log = createLog({ level: 'silent', pretty: false, secrets: [], write: () => {} })
      await withRequestBudgets(config, warehouse, log, (budgets) =>
        openSendRecord(config, project, { warehouse, budgets, log }).findHold(),
      )
      resumed = await resume()
    }
    if (resumed !== null) return { project: project.name, ...resumed }
    throw new UserError({
      what: 'nothing was changed',
      why: `the sending of ${project.name} is not held, and nothing is known to have been sent that the warehouse does not know`,
      next: '`deskmirror status` shows its state',
      exitCode: 2,
    })
  })
}
