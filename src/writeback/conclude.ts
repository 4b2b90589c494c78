/** What became of one that was sent, by the evidence: an answer, a refusal, nothing that left, or silence. */
import type { Answer } from '../core/call.ts'
import { CallFailed, type Failure } from '../core/failure.ts'
import { never } from '../core/never.ts'
import type { Step } from '../core/outbox/outbox.ts'
import type { Attempted } from './attempt.ts'
import type { Cleared } from './operations/procedure.ts'
import { backOff } from './patience.ts'
import { refresh } from './refresh.ts'
import { type Outcome, outcomeOf, restMs, type Task } from './task.ts'

/** Throws CallFailed where the key is denied: nothing was done, and it is queued again. */
export async function conclude(task: Task, cleared: Cleared, sent: Exclude<Attempted, string>): Promise<Outcome> {
  const { deps, one, procedure } = task
  if ('answer' in sent) return accepted(task, cleared, sent.answer)
  const { failure } = sent
  const step = await stepFor(task, cleared, failure)
  const status = await deps.outbox.sent(one, step)
  if (failure.kind === 'denied') throw new CallFailed(failure)
  // Where there is nothing to look for, there is nothing to wait for.
  if (status === 'sending' && procedure.rest === 0) {
    return outcomeOf(await deps.outbox.sent(one, { happening: 'unknowable', why: step.why }))
  }
  const isTrouble = failure.kind === 'throttled' || (failure.kind === 'transient' && !failure.left)
  return outcomeOf(status, isTrouble ? failure : null)
}

async function stepFor(task: Task, { body }: Cleared, failure: Failure): Promise<Step> {
  const { deps, one, procedure } = task
  const now = deps.now()
  switch (failure.kind) {
    case 'aborted':
      return { happening: 'undone', why: 'stopped before it left' }
    case 'throttled':
    case 'denied':
      return { happening: 'undone', why: failure.why, requestId: failure.requestId }
    case 'refused': {
      const { why, requestId, status } = failure
      const lesson = (await procedure.lesson?.(deps, one, failure, body)) ?? null
      return lesson ?? { happening: 'refused', why, requestId, evidence: { status } }
    }
    case 'transient': {
      const { why, requestId, status, left, claim } = failure
      const tries = (one.evidence.tries ?? 0) + 1
      if (!left) return { happening: 'undone', why, evidence: { tries }, dueAt: now + backOff(tries, deps.random()) }
      const said = claim === undefined ? {} : { claim: { says: claim, why } }
      const evidence = { sender: 'ended', tries: 0, ...(status === null ? {} : { status }), ...said } as const
      return { happening: 'unanswered', why, requestId, evidence, dueAt: now + restMs(task) }
    }
    default:
      return never(failure)
  }
}

/** Done. That the mirror cannot show it just now would change nothing about its fate. */
async function accepted(task: Task, { body, before }: Cleared, answer: Answer): Promise<Outcome> {
  const { deps, one, procedure } = task
  const { status, requestId } = answer
  const learned = procedure.learned?.(body) ?? []
  const why = `the service answered ${status}`
  const now = await deps.outbox.sent(one, { happening: 'accepted', why, requestId, evidence: { status }, learned })
  const known = { ...one, evidence: { ...one.evidence, before } }
  if (now !== null) await refresh({ ...task, one: known }, answer)
  return outcomeOf(now)
}
