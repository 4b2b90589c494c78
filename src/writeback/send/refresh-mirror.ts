/** Shows the effect of a write-back, or the reason for a conflict, in the mirror before the next sync. */

import { ApiError, describeFailure } from '../../core/api-failure.ts'
import type { ApiResponse } from '../../core/api-request.ts'
import type { SendTask } from './send-task.ts'

/**
 * A failed read is only logged, as it does not change the outcome. `answer`: the response to an accepted write-back, else
 * null.
 */
export async function refreshMirror(
  { deps, writeback, handler, request }: SendTask,
  answer: ApiResponse | null,
): Promise<void> {
  try {
    const messageId =
      answer === null ? null : ((await handler.findMessageId?.(deps, writeback, request, answer)) ?? null)
    if (messageId !== null) await deps.outbox.recordMessageId(writeback, messageId)
    await handler.refreshTarget(deps, writeback)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    deps.log.debug({ event: 'mirror_refresh.failed', id: writeback.id, why: describeFailure(error.failure) })
  }
}
