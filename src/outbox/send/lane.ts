/**
 * Works on one lane: all write-backs to one conversation or visitor, sent and verified in order, as
 * long as one can be claimed.
 *
 * **The idea.** The service knows no idempotency key, so a reply whose answer was lost may be with
 * the customer. It is not sent again before that is known: the intent is durable before a byte
 * leaves, and the outcome follows from evidence alone.
 *
 * **The way of a write-back.** `claim` (compare-and-set, with a lease) → `checkPrecondition` (the
 * target as the service shows it now) → `markSending` (status `sending`, with the ids of the
 * messages that were there before) → one request, which is never repeated → one of three:
 * - no byte left, or the service says that nothing was done: `not_sent`, it is queued as before;
 * - an answer: `accepted` or `refused`, which is final;
 * - neither: it stays `sending`, and is looked for later (`verify`). It is `found`; or it is not
 *   found twice, and may be sent again (`absent`); or nothing shows what happened, and it is
 *   `uncertain`: its lane waits until a person decides.
 *
 * `core/state.ts` has all states and events as a table.
 *
 * **The invariant.** Between two sends of a reply or a note there is a proof that the first did not
 * arrive, or the word of a person. Two tokens keep it while processes die, sleep and wake up:
 * `fencing_token` grows with each claim and each decision, so that who lost the row can neither
 * send nor settle it; `attempts` grows with each send, so that an outcome belongs to its own send.
 *
 * **Proven** by test/outbox: states (each state with each event), kill and byte-cuts (processes and
 * connections that end anywhere), in-flight (decisions meanwhile), match-reply (what a list shows);
 * and by test/simulator.
 */
import {
  ApiError,
  type ApiFailure,
  describeFailure,
  isRowRefused,
} from '../../service/core/api-failure.ts'
import { endClaim } from '../active-claims.ts'
import { operationTypes } from '../core/operations.ts'
import type {
  ClaimableWriteback,
  ClaimFilter,
  Writeback,
  WritebackOutcome,
} from '../core/outbox-entry.ts'
import { describeExpiry, describeMistakes, hasExpired } from '../core/writeback-request.ts'
import { createHandler } from '../handlers/all-handlers.ts'
import {
  isInDoubt,
  type Obstruction,
  type Verification,
  type WritebackDeps,
} from '../handlers/operation-handler.ts'
import { sendRequest } from './send-request.ts'
import {
  backOffMs,
  isOfService,
  maxSends,
  mayHaveBeenDone,
  refreshMirror,
  type SendTask,
  type SendTaskResult,
  settleTask,
  toTaskResult,
  verificationsNeeded,
} from './settle-request.ts'

/** Lanes per process: enough to use a key's write rate when responses take a second. */
export const maxConcurrentLanes = 6

/** Null, or the failure that stopped the lane. Throws ApiError if the key is denied. */
export async function sendLane(
  deps: WritebackDeps,
  first: ClaimableWriteback,
  callbacks: {
    /** What of the lane may follow the first. */
    readonly claimFilter: () => ClaimFilter
    readonly canContinue: () => boolean
    readonly onSettled: (outcome: WritebackOutcome, writeback: Writeback) => void
  },
): Promise<ApiFailure | null> {
  for (let head: ClaimableWriteback | undefined = first; head !== undefined; ) {
    const writeback = await deps.outbox.claim(head.id, deps.now())
    if (writeback === null) return null
    const result = await sendOne(deps, writeback).finally(() => endClaim(writeback.id))
    if (result.kind === 'claim_lost') return null
    if (result.kind === 'deferred' && result.failure !== null) return result.failure
    if (result.kind === 'settled') {
      const { status, why, isContradicted } = result
      const { id, operation } = writeback
      callbacks.onSettled(result, writeback)
      const logged = { event: 'writeback.settled', project: deps.projectId, id, operation, status }
      if (isContradicted) deps.log.warn({ ...logged, why })
      else deps.log.info(logged)
    }
    if (deps.signal.aborted) return null
    const filter = { ...callbacks.claimFilter(), lane: head.lane }
    const [next] = await deps.outbox.findClaimable(deps.now(), 1, filter)
    head = callbacks.canContinue() ? next : undefined
  }
  return null
}

/**
 * Throws ApiError if the key is denied or the server is not this API; it is then queued as before.
 */
export async function sendOne(deps: WritebackDeps, writeback: Writeback): Promise<SendTaskResult> {
  const { request } = writeback
  if (!request.ok) {
    // A row that was changed by SQL after the send cannot be verified.
    const event = writeback.status === 'sending' ? 'unverifiable' : 'invalid'
    return settleTask({ deps, writeback }, { event, why: describeMistakes(request.mistakes) })
  }
  const task: SendTask = { deps, writeback, handler: createHandler(request.request) }
  const isExpired = hasExpired(writeback.expiresAt, deps.now())
  const expired = { event: 'expired', why: describeExpiry(writeback.expiresAt) } as const
  try {
    if (writeback.status !== 'sending')
      return isExpired ? await settleTask(task, expired) : await checkAndSend(task)
    // Recorded before verification, so that it is not sent again whatever verification finds.
    return isExpired && writeback.revokedAs === null
      ? await settleTask(task, expired)
      : await verify(task, () => settleAbsent(task))
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return releaseForRetry(task, error)
  }
}

async function checkAndSend(task: SendTask): Promise<SendTaskResult> {
  const { writeback, handler } = task
  const { isIdempotent } = operationTypes[writeback.operation]
  for (;;) {
    // An earlier send may have arrived late, also during a long wait for the rate limit.
    const verified = !isIdempotent && isInDoubt(writeback) ? await verify(task, () => null) : null
    if (verified !== null) return verified
    const precondition = await handler.checkPrecondition(task).catch(toMissingTarget)
    if ('event' in precondition) return settleUnsent(task, precondition)
    const result = await sendRequest(task, precondition)
    if (result !== 'stale') return result
  }
}

/** Refreshes the mirror after a conflict, so that it shows the reason. */
async function settleUnsent(task: SendTask, obstruction: Obstruction): Promise<SendTaskResult> {
  const wasSent = '; it was sent before, and may have been done then'
  const why = `${obstruction.why}${mayHaveBeenDone(task.writeback) ? wasSent : ''}`
  const status = await task.deps.outbox.settle(task.writeback, { ...obstruction, why })
  if (status === 'conflict') await refreshMirror(task, null)
  return toTaskResult(status, why)
}

/** The target does not exist, or the service refuses to return it. */
function toMissingTarget(error: unknown): Obstruction {
  if (!(error instanceof ApiError) || !isRowRefused(error.failure)) throw error
  return { event: 'invalid', why: describeFailure(error.failure) }
}

/**
 * It is tried later, and says why. A denied key, or an address without this API, leaves it
 * unchanged.
 */
async function releaseForRetry(
  { deps, writeback }: SendTask,
  error: ApiError,
): Promise<SendTaskResult> {
  const { failure } = error
  if (failure.kind === 'aborted' || isOfService(failure)) {
    await deps.outbox.release(writeback, { dueAt: null })
    if (failure.kind !== 'aborted') throw error
    return { kind: 'deferred', failure: null }
  }
  const failedAttempts = (writeback.evidence.failedAttempts ?? 0) + 1
  const dueAt = deps.now() + backOffMs(failedAttempts, deps.random())
  const doing =
    writeback.status === 'sending' ? 'it could not be verified yet' : 'it could not be sent yet'
  // Without the id of the request, so that a repeated failure is no new event.
  await deps.outbox.release(writeback, {
    dueAt,
    evidence: { failedAttempts },
    why: `${doing}: ${failure.why}`,
  })
  return { kind: 'deferred', failure }
}

/** `whenAbsent`: if it did not arrive. Throws ApiError if the service cannot be read. */
async function verify<T>(
  task: SendTask,
  whenAbsent: () => T,
): Promise<SendTaskResult | Awaited<T>> {
  const verification = await task.handler.verify(task).catch((error: unknown): Verification => {
    // The target no longer exists, so nothing can be verified.
    if (!(error instanceof ApiError) || !isRowRefused(error.failure)) throw error
    return { event: 'unverifiable', why: describeFailure(error.failure) }
  })
  if (verification.event === 'absent') return await whenAbsent()
  if (verification.event === 'unverifiable') return settleTask(task, verification)
  const { why: found } = verification
  const { status: answered } = task.writeback.evidence
  const response =
    answered === undefined ? 'no response came' : `the response proved nothing (${answered})`
  const why = `${response}, but ${found}`
  const transition = { ...verification, why, evidence: { found } }
  const status = await task.deps.outbox.settle(task.writeback, transition)
  if (status !== null) await refreshMirror(task, null)
  return toTaskResult(status, why)
}

async function settleAbsent(task: SendTask): Promise<SendTaskResult> {
  const { deps, writeback } = task
  const verifications = (writeback.evidence.verifications ?? 0) + 1
  if (verifications < verificationsNeeded) {
    const why = 'it was not found; it will be verified again'
    const dueAt = deps.now() + deps.verifyAfterMs
    return settleTask(task, { event: 'not_found_yet', why, evidence: { verifications }, dueAt })
  }
  const { statedResult } = writeback.evidence
  if (statedResult?.says === 'refused')
    return settleTask(task, { event: 'refused', why: statedResult.why })
  const blocker = resendBlocker(task)
  if (blocker !== null) return settleTask(task, { event: 'unverifiable', why: blocker })
  const revoked = `it was ${writeback.revokedAs} meanwhile and will not be sent again`
  const next = writeback.revokedAs === null ? 'it will be sent again' : revoked
  return settleTask(task, { event: 'absent', why: `it was not found: ${next}` })
}

/** Null if it may be sent again. */
function resendBlocker({ deps, writeback }: SendTask): string | null {
  if (writeback.revokedAs === null && writeback.attempts >= maxSends)
    return `it was sent ${writeback.attempts} times, and no response proved its outcome`
  if (operationTypes[writeback.operation].isIdempotent) return null
  // A service that accepted the request may still carry it out.
  if (writeback.evidence.statedResult?.says === 'accepted')
    return `it was not found, but the service accepted it: ${writeback.evidence.statedResult.why}`
  // A suspended process may resume and still send.
  if (writeback.evidence.sender === 'silent')
    return 'it was not found, but the sending process may still be alive'
  return deps.resendReplies || writeback.revokedAs !== null
    ? null
    : 'it was not found, and replies are not resent automatically (resend_replies)'
}
