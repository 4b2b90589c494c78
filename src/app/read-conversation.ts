/** Reads one conversation from the service while a person looks at it, and stores its messages. */
import type { Config, ProjectConfig } from '../config/config.ts'
import type { Logger } from '../log.ts'
import { readMessages } from '../mirror/sync/read-messages.ts'
import { createOutbox } from '../outbox/sql/outbox.ts'
import { ApiError, describeFailure } from '../service/core/api-failure.ts'
import type { ApiGet } from '../service/core/api-request.ts'
import type { Ms } from '../values/time.ts'
import { UserError } from '../values/user-error.ts'
import { withOpened } from '../values/with-opened.ts'
import { openMirror } from './facts.ts'
import { openProject } from './service.ts'

/** A page waits for it. */
const maxMs: Ms = 8000

/** `why` null: the mirror has its messages now. Otherwise why not. */
export async function readConversationNow(
  config: Config,
  project: ProjectConfig,
  conversation: string,
  log: Logger,
): Promise<{ readonly why: string | null }> {
  const signal = AbortSignal.timeout(maxMs)
  try {
    await withOpened(async (use) => {
      const options = { signal, log, maxMs }
      const { service, warehouse } = await openProject(use, config, project, options)
      const { projectId, schema } = project
      const { readBehaviours, recordBehaviours } = createOutbox(warehouse.projectDb(projectId))
      const get = (...request: Parameters<ApiGet>) => service.mirrorGet('messages', ...request)
      const deps = { projectId, get, now: Date.now }
      const { rows, requestedAt } = await readMessages(
        { ...deps, readBehaviours, recordBehaviours },
        conversation,
      )
      const mirror = openMirror(warehouse, projectId, { schema })
      await mirror.commit({ stream: 'messages', rows, requestedAt })
    })
    return { why: null }
  } catch (error) {
    if (error instanceof ApiError) return { why: describeFailure(error.failure) }
    if (error instanceof UserError) return { why: error.message }
    throw error
  }
}
