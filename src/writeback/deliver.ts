/**
 * One write-back, from its claim to its fate. Its intent is durable before a byte leaves; what became of it is concluded
 * from evidence only: nothing left, an answer, or neither.
 */
import { CallFailed, describe, isRefusedByService } from '../core/failure.ts'
import type { Writeback } from '../core/outbox.ts'
import { moment } from '../core/time.ts'
import { readWish } from '../core/wish.ts'
import { isRefused } from '../sync/stop.ts'
import { attempt } from './attempt.ts'
import { conclude } from './conclude.ts'
import { came, type Delivered, type Errand, type Guarded, type WritebackDeps } from './deps.ts'
import { look, lookAgain } from './look.ts'
import { crafts } from './operations/crafts.ts'
import { backOff } from './patience.ts'
import { refresh } from './refresh.ts'

/** Throws CallFailed where the key may not do this, or nobody serves this API: then it is as it was before. */
export async function deliver(deps: WritebackDeps, one: Writeback): Promise<Delivered> {
  const read = readWish(one.line)
  if (!read.ok) return came(await deps.outbox.settle(one, { happening: 'unfit', why: read.why.join('; ') }))
  const errand: Errand = { deps, one, wish: read.wish, craft: crafts[read.wish.operation] }
  try {
    return one.status === 'sending' ? await look(errand) : await carry(errand)
  } catch (error) {
    if (!(error instanceof CallFailed)) throw error
    return giveBack(errand, error)
  }
}

async function carry(errand: Errand): Promise<Delivered> {
  const { deps, one, craft, wish } = errand
  const expiry = moment(one.expiresAt)
  if (expiry !== undefined && expiry * 1000 <= deps.now()) {
    return came(await deps.outbox.settle(one, { happening: 'expired', why: `not to be sent after ${one.expiresAt}` }))
  }
  const turnedUp = wasSent(errand) ? await lookAgain(errand) : null
  if (turnedUp !== null) return turnedUp
  for (;;) {
    const guarded = await craft.guard(deps, one, wish).catch(aboutNobody)
    if (!guarded.go) return heldBack(errand, guarded)
    // Behind it: a service so slow that looking takes longer than it is believed would never be sent anything.
    const lookedAt = deps.now()
    const attempted = await attempt(errand, guarded, lookedAt)
    if (attempted === 'lost') return letGo(errand)
    if (attempted !== 'stale') return conclude(errand, guarded, attempted)
  }
}

/** It was sent before, got no answer and was not there: it may have been late. */
function wasSent({ one, craft }: Errand): boolean {
  return !craft.idempotent && one.attempts > 0 && one.evidence.before !== undefined
}

/** Somebody decided otherwise, or put another one in front of it. */
async function letGo({ deps, one }: Errand): Promise<Delivered> {
  await deps.outbox.release(one, null)
  return { kind: 'lost' }
}

/** Whoever looks at a conflict should see in the mirror what stands against it. */
async function heldBack(errand: Errand, guarded: Exclude<Guarded, { go: true }>): Promise<Delivered> {
  const status = await errand.deps.outbox.settle(errand.one, guarded)
  if (status === 'conflict') await refresh(errand, null)
  return came(status)
}

/** Whom it is about does not exist, or the service will not speak of it. */
function aboutNobody(error: unknown): Guarded {
  if (!(error instanceof CallFailed) || !isRefusedByService(error.failure)) throw error
  return { go: false, happening: 'unfit', why: describe(error.failure) }
}

/** Something could not be read, or no slot was to be had: it stays as it was, for later. */
async function giveBack({ deps, one }: Errand, error: CallFailed): Promise<Delivered> {
  const { failure } = error
  const tries = (one.evidence.tries ?? 0) + 1
  const rests = failure.kind === 'transient' || failure.kind === 'throttled'
  await deps.outbox.release(one, rests ? deps.now() + backOff(tries, deps.random()) : null, rests ? { tries } : {})
  if (failure.kind === 'denied' || isRefused(error)) throw error
  return { kind: 'resting', trouble: failure.kind === 'aborted' ? null : failure }
}
