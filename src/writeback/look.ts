/** One that was sent and got no answer: looks what became of it. */
import { CallFailed, describe, isRefusedByService } from '../core/failure.ts'
import { came, type Delivered, type Errand, type Looked } from './deps.ts'
import { looksNeeded, mostSendings } from './patience.ts'
import { refresh } from './refresh.ts'

/** Throws CallFailed where it cannot look now. */
export async function look(errand: Errand): Promise<Delivered> {
  const { deps, one, craft, wish } = errand
  const looked = await craft.look(deps, one, wish).catch(nowhere)
  return looked.kind === 'absent' ? absent(errand) : conclude(errand, looked)
}

async function conclude(errand: Errand, looked: Exclude<Looked, { kind: 'absent' }>): Promise<Delivered> {
  if (looked.kind === 'found') return found(errand, looked)
  return came(await errand.deps.outbox.settle(errand.one, { happening: 'unknowable', why: looked.why }))
}

/** Once more, just before it goes again; null: it is still not there. */
export async function lookAgain(errand: Errand): Promise<Delivered | null> {
  const { deps, one, craft, wish } = errand
  const looked = await craft.look(deps, one, wish)
  return looked.kind === 'absent' ? null : conclude(errand, looked)
}

/** Whom it was about is gone, and with it every trace. */
function nowhere(error: unknown): Looked {
  if (!(error instanceof CallFailed) || !isRefusedByService(error.failure)) throw error
  return { kind: 'unknowable', why: describe(error.failure) }
}

async function found(errand: Errand, { how, messageId }: Extract<Looked, { kind: 'found' }>): Promise<Delivered> {
  const step = { happening: 'found', why: `no answer came, but ${how}`, evidence: { found: how } } as const
  const status = await errand.deps.outbox.settle(errand.one, messageId === undefined ? step : { ...step, messageId })
  if (status !== null) await refresh(errand, null)
  return came(status)
}

async function absent(errand: Errand): Promise<Delivered> {
  const { deps, one, craft } = errand
  const looks = (one.evidence.looks ?? 0) + 1
  if (!craft.idempotent && looks < looksNeeded) {
    const dueAt = deps.now() + craft.restMs(deps.verifyAfterMs)
    const why = 'it is not there; it is looked for once more'
    return came(await deps.outbox.settle(one, { happening: 'unanswered', why, evidence: { looks }, dueAt }))
  }
  const doubt = whyNotAgain(errand)
  if (doubt !== null) return came(await deps.outbox.settle(one, { happening: 'unknowable', why: doubt }))
  return came(await deps.outbox.settle(one, { happening: 'absent', why: 'it is not there: it goes once more' }))
}

/** Null: it may go once more. */
function whyNotAgain({ deps, one, craft }: Errand): string | null {
  if (one.attempts >= mostSendings) return `it was sent ${one.attempts} times, and no readable answer came`
  if (craft.idempotent) return null
  // A process that was only stopped goes on where it was: it might send after all.
  if (one.evidence.sender === 'silent') return 'it is not there, but the process that was to send it may still live'
  return deps.resendReplies ? null : 'it is not there, and replies are not sent again by themselves (resend_replies)'
}
