/** The mirror shows what a write-back has done, without waiting for the next sync. */
import type { Answer } from '../core/call.ts'
import { CallFailed, describe } from '../core/failure.ts'
import type { Errand } from './deps.ts'

/** That it cannot be read just now changes nothing about the fate of the write-back. `answer` null: none came. */
export async function refresh({ deps, one, craft, wish }: Errand, answer: Answer | null): Promise<void> {
  try {
    const { messageId, learned } = await craft.refresh(deps, one, wish, answer)
    if (messageId !== undefined) await deps.outbox.noteMessage(one, messageId)
    if (learned !== undefined) await deps.outbox.learn(learned)
  } catch (error) {
    if (!(error instanceof CallFailed)) throw error
    deps.log.debug({ event: 'writeback.unrefreshed', id: one.id, why: describe(error.failure) })
  }
}
