/** Reads and stores the messages of a conversation, or a visitor, while a person looks at them. */
import type { MirrorRow } from '../../schema/row.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import type { Logger } from '../log.ts'
import { visitors } from '../mirror/core/streams.ts'
import { readMessages } from '../mirror/sync/read-messages.ts'
import { createOutbox } from '../outbox/sql/outbox.ts'
import { ApiError, describeFailure } from '../service/core/api-failure.ts'
import type { ApiGet } from '../service/core/api-request.ts'
import { toListShape } from '../service/core/row-by-id-shape.ts'
import type { Ms } from '../values/time.ts'
import { UserError } from '../values/user-error.ts'
import { withOpened } from '../values/with-opened.ts'
import { openMirror } from './facts.ts'
import { openProject } from './service.ts'

/** A page waits for it. */
const maxMs: Ms = 8000

/** `messages`: of the conversation with that id. */
export type ReadableNow = 'messages' | 'visitors'

/** `why` null: the mirror has it now. Otherwise why not. */
export async function readNow(
  config: Config,
  project: ProjectConfig,
  stream: ReadableNow,
  id: string,
  log: Logger,
): Promise<{ readonly why: string | null }> {
  const signal = AbortSignal.timeout(maxMs)
  try {
    await withOpened(async (use) => {
      const options = { signal, log, maxMs }
      const { service, warehouse } = await openProject(use, config, project, options)
      const { projectId, schema } = project
      const get = (...request: Parameters<ApiGet>) => service.mirrorGet(stream, ...request)
      const mirror = openMirror(warehouse, projectId, { schema, columns: service.columns })
      const store = (rows: readonly MirrorRow[], requestedAt: number) =>
        mirror.commit({ stream, rows, requestedAt, isAuthoritative: stream === 'visitors' })
      if (stream === 'messages') {
        const { readBehaviours, recordBehaviours } = createOutbox(warehouse.projectDb(projectId))
        const deps = { projectId, get, now: Date.now, readBehaviours, recordBehaviours }
        const { rows, requestedAt } = await readMessages(deps, id)
        await store(rows, requestedAt)
        return
      }
      const { data, requestedAt } = await get(visitors.rowPath(projectId, id), {}, 'fresh')
      const stored = (await mirror.readRawById(stream, [id])).get(id)
      const { rows } = visitors.parseRows([toListShape(stored, data)], projectId)
      await store(rows, requestedAt)
    })
    return { why: null }
  } catch (error) {
    if (error instanceof ApiError) return { why: describeFailure(error.failure) }
    if (error instanceof UserError) return { why: error.message }
    throw error
  }
}
