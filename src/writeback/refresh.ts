/** The mirror shows what a write-back has done, or what stood against it, without waiting for the next sync. */
import type { Answer } from '../core/call.ts'
import { CallFailed, describe } from '../core/failure.ts'
import type { Task } from './task.ts'

/**
 * That something cannot be read just now changes nothing about the fate of the write-back. `answer`: of one that was
 * accepted; null = there is none.
 */
export async function refresh({ deps, one, procedure, wish }: Task, answer: Answer | null): Promise<void> {
  try {
    const messageId = answer === null ? null : ((await procedure.recognize?.(deps, one, wish, answer)) ?? null)
    if (messageId !== null) await deps.outbox.noteMessage(one, messageId)
    await procedure.refresh(deps, one)
  } catch (error) {
    if (!(error instanceof CallFailed)) throw error
    deps.log.debug({ event: 'writeback.unrefreshed', id: one.id, why: describe(error.failure) })
  }
}
