/** What became of one that was sent, by the evidence: an answer, a refusal, nothing that left, or silence. */
import type { Answer } from '../core/call.ts'
import { CallFailed, type Failure } from '../core/failure.ts'
import { never } from '../core/never.ts'
import type { Step } from '../core/outbox.ts'
import type { Attempted } from './attempt.ts'
import { came, type Delivered, type Errand, type Going } from './deps.ts'
import { backOff } from './patience.ts'
import { refresh } from './refresh.ts'

/** Throws CallFailed where the key is denied: nothing was done, and it is queued again. */
export async function conclude(errand: Errand, going: Going, sent: Exclude<Attempted, string>): Promise<Delivered> {
  const { deps, one, craft } = errand
  if ('answer' in sent) return accepted(errand, going, sent.answer)
  const { failure } = sent
  const step = await stepFor(errand, going, failure)
  const status = await deps.outbox.sent(one, step)
  if (failure.kind === 'denied') throw new CallFailed(failure)
  // Where there is nothing to look for, there is nothing to wait for.
  if (status === 'sending' && craft.restMs(deps.verifyAfterMs) === 0) {
    return came(await deps.outbox.sent(one, { happening: 'unknowable', why: step.why }))
  }
  const isTrouble = failure.kind === 'throttled' || (failure.kind === 'transient' && !failure.left)
  return came(status, isTrouble ? failure : null)
}

async function stepFor({ deps, one, craft }: Errand, { body }: Going, failure: Failure): Promise<Step> {
  const now = deps.now()
  switch (failure.kind) {
    case 'aborted':
      return { happening: 'undone', why: 'stopped before it left' }
    case 'throttled':
    case 'denied':
      return { happening: 'undone', why: failure.why, requestId: failure.requestId }
    case 'refused': {
      const { why, requestId, status } = failure
      const lesson = (await craft.lesson?.(deps, one, failure, body)) ?? null
      return lesson ?? { happening: 'refused', why, requestId, evidence: { status } }
    }
    case 'transient': {
      const { why, requestId, status, left } = failure
      const tries = (one.evidence.tries ?? 0) + 1
      if (!left) return { happening: 'undone', why, evidence: { tries }, dueAt: now + backOff(tries, deps.random()) }
      const evidence = { sender: 'ended', tries: 0, ...(status === null ? {} : { status }) } as const
      return { happening: 'unanswered', why, requestId, evidence, dueAt: now + craft.restMs(deps.verifyAfterMs) }
    }
    default:
      return never(failure)
  }
}

/** Done. That the mirror cannot show it just now would change nothing about its fate. */
async function accepted(
  { deps, one, craft, wish }: Errand,
  { body, before }: Going,
  answer: Answer,
): Promise<Delivered> {
  const { status, requestId } = answer
  const learned = craft.learned?.(body) ?? []
  const why = `the service answered ${status}`
  const now = await deps.outbox.sent(one, { happening: 'accepted', why, requestId, evidence: { status }, learned })
  const known = { ...one, evidence: { ...one.evidence, before } }
  if (now !== null) await refresh({ deps, one: known, craft, wish }, answer)
  return came(now)
}
