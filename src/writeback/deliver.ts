/**
 * One write-back, from its claim to its fate. Its intent is durable before a byte leaves; what became of it is concluded
 * from evidence only: nothing left, an answer, or neither.
 */
import { CallFailed, describe, isRefusedByService } from '../core/failure.ts'
import type { Writeback } from '../core/outbox/outbox.ts'
import { hasExpired, readWish } from '../core/outbox/wish.ts'
import { isRefused } from '../sync/stop.ts'
import { attempt } from './attempt.ts'
import { conclude } from './conclude.ts'
import type { WritebackDeps } from './deps.ts'
import { look, lookAgain } from './look.ts'
import { procedures } from './operations/catalog.ts'
import type { Guarded } from './operations/procedure.ts'
import { backOff } from './patience.ts'
import { refresh } from './refresh.ts'
import { type Outcome, outcomeOf, settle, type Task, wasSent } from './task.ts'

/** Throws CallFailed where the key may not do this, or nobody serves this API: then it is as it was before. */
export async function deliver(deps: WritebackDeps, one: Writeback): Promise<Outcome> {
  const read = readWish(one.line)
  if (!read.ok) {
    // Sent as what it was, and changed by hand since: nobody can tell what to look for.
    const happening = one.status === 'sending' ? 'unknowable' : 'unfit'
    return settle({ deps, one }, { happening, why: read.why.join('; ') })
  }
  const task: Task = { deps, one, wish: read.wish, procedure: procedures[read.wish.operation] }
  const isLate = hasExpired(one.expiresAt, deps.now())
  const late = { happening: 'expired', why: `not to be sent after ${one.expiresAt}` } as const
  try {
    if (one.status !== 'sending') return isLate ? await settle(task, late) : await carry(task)
    // Noted first: whatever comes of looking for it, it does not go again.
    return isLate && one.revokedAs === null ? await settle(task, late) : await look(task)
  } catch (error) {
    if (!(error instanceof CallFailed)) throw error
    return giveBack(task, error)
  }
}

async function carry(task: Task): Promise<Outcome> {
  const { deps, one, procedure, wish } = task
  for (;;) {
    // It may have been late: looked for each time, as a wait for its turn may have been long.
    const turnedUp = !procedure.idempotent && wasSent(one) ? await lookAgain(task) : null
    if (turnedUp !== null) return turnedUp
    const guarded = await procedure.guard(deps, one, wish).catch(aboutNobody)
    if (!guarded.go) return settleUnsent(task, guarded)
    const attempted = await attempt(task, guarded)
    if (attempted === 'lost') return letGo(task)
    if (attempted !== 'stale') return conclude(task, guarded, attempted)
  }
}

/** Somebody decided otherwise, or put another one in front of it. */
async function letGo({ deps, one }: Task): Promise<Outcome> {
  await deps.outbox.release(one, null)
  return { kind: 'lost' }
}

/** Whoever looks at a conflict should see in the mirror what stands against it. */
async function settleUnsent(task: Task, guarded: Exclude<Guarded, { go: true }>): Promise<Outcome> {
  const status = await task.deps.outbox.settle(task.one, guarded)
  if (status === 'conflict') await refresh(task, null)
  return outcomeOf(status)
}

/** Whom it is about does not exist, or the service will not speak of it. */
function aboutNobody(error: unknown): Guarded {
  if (!(error instanceof CallFailed) || !isRefusedByService(error.failure)) throw error
  return { go: false, happening: 'unfit', why: describe(error.failure) }
}

/** Something could not be read, or no slot was to be had: it stays as it was, for later. */
async function giveBack({ deps, one }: Task, error: CallFailed): Promise<Outcome> {
  const { failure } = error
  const tries = (one.evidence.tries ?? 0) + 1
  const rests = failure.kind === 'transient' || failure.kind === 'throttled'
  await deps.outbox.release(one, rests ? deps.now() + backOff(tries, deps.random()) : null, rests ? { tries } : {})
  if (failure.kind === 'denied' || isRefused(error)) throw error
  return { kind: 'resting', trouble: failure.kind === 'aborted' ? null : failure }
}
