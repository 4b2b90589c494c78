/** The mirror shows what a write-back has done, or what stood against it, without waiting for the next sync. */
import type { ApiResponse } from '../../core/api-request.ts'
import { ApiError, describeFailure } from '../../core/api-failure.ts'
import type { SendTask } from './send-task.ts'

/**
 * That something cannot be read just now changes nothing about the fate of the write-back. `answer`: of one that was
 * accepted; null = there is none.
 */
export async function refreshMirror({ deps, writeback, handler, request }: SendTask, answer: ApiResponse | null): Promise<void> {
  try {
    const messageId = answer === null ? null : ((await handler.findMessageId?.(deps, writeback, request, answer)) ?? null)
    if (messageId !== null) await deps.outbox.recordMessageId(writeback, messageId)
    await handler.refreshTarget(deps, writeback)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    deps.log.debug({ event: 'writeback.unrefreshed', id: writeback.id, why: describeFailure(error.failure) })
  }
}
