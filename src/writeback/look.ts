/** One that was sent and got no answer: looks what became of it. */
import { CallFailed, describe, isRefusedByService } from '../core/failure.ts'
import type { Looked } from './operations/procedure.ts'
import { looksNeeded, mostSendings } from './patience.ts'
import { refresh } from './refresh.ts'
import { type Outcome, outcomeOf, settle, type Task } from './task.ts'

/** Throws CallFailed where it cannot look now. */
export async function look(task: Task): Promise<Outcome> {
  const { deps, one, procedure, wish } = task
  const looked = await procedure.look(deps, one, wish).catch(nowhere)
  return looked.kind === 'absent' ? absent(task) : settleLooked(task, looked)
}

/** Once more, just before it goes again; null: it is still not there. */
export async function lookAgain(task: Task): Promise<Outcome | null> {
  const { deps, one, procedure, wish } = task
  const looked = await procedure.look(deps, one, wish).catch(nowhere)
  return looked.kind === 'absent' ? null : settleLooked(task, looked)
}

/** Whom it was about is gone, and with it every trace. */
function nowhere(error: unknown): Looked {
  if (!(error instanceof CallFailed) || !isRefusedByService(error.failure)) throw error
  return { kind: 'unknowable', why: describe(error.failure) }
}

async function settleLooked(task: Task, looked: Exclude<Looked, { kind: 'absent' }>): Promise<Outcome> {
  if (looked.kind === 'unknowable') return settle(task, { happening: 'unknowable', why: looked.why })
  const { how, messageId } = looked
  const answered = task.one.evidence.status
  const answer = answered === undefined ? 'no answer came' : `the answer was no proof (${answered})`
  const step = { happening: 'found', why: `${answer}, but ${how}`, evidence: { found: how } } as const
  const status = await task.deps.outbox.settle(task.one, messageId === undefined ? step : { ...step, messageId })
  if (status !== null) await refresh(task, null)
  return outcomeOf(status)
}

async function absent(task: Task): Promise<Outcome> {
  const { deps, one } = task
  const looks = (one.evidence.looks ?? 0) + 1
  if (looks < looksNeeded) {
    const why = 'it is not there; it is looked for once more'
    return settle(task, { happening: 'unanswered', why, evidence: { looks }, dueAt: deps.now() + deps.verifyAfterMs })
  }
  const claim = one.evidence.claim
  if (claim?.says === 'refused') return settle(task, { happening: 'refused', why: claim.why })
  const doubt = whyNotAgain(task)
  if (doubt !== null) return settle(task, { happening: 'unknowable', why: doubt })
  const then = one.revokedAs === null ? 'it goes once more' : `it was ${one.revokedAs} meanwhile, and does not go again`
  return settle(task, { happening: 'absent', why: `it is not there: ${then}` })
}

/** Null: it may go once more. */
function whyNotAgain({ deps, one, procedure }: Task): string | null {
  if (one.revokedAs === null && one.attempts >= mostSendings)
    return `it was sent ${one.attempts} times, and no answer proved what became of it`
  if (procedure.idempotent) return null
  // Who has taken it may do it still.
  if (one.evidence.claim?.says === 'accepted')
    return `it is not there, but the service has taken it: ${one.evidence.claim.why}`
  // A process that was only stopped goes on where it was: it might send after all.
  if (one.evidence.sender === 'silent') return 'it is not there, but the process that was to send it may still live'
  return deps.resendReplies || one.revokedAs !== null
    ? null
    : 'it is not there, and replies are not sent again by themselves (resend_replies)'
}
