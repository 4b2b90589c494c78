/**
 * Checks rows with the service before they are sent: reads each target, and runs the checks that sending would. Sends
 * nothing. Effects of earlier rows are added by the review, as for the mirror.
 */
import pMap from 'p-map'
import type { TargetKind } from '../../../schema/operation-specs.ts'
import { ApiError, describeFailure, isRefusedByService } from '../../service/core/api-failure.ts'
import type { ApiGet, ApiResponse } from '../../service/core/api-request.ts'
import { asJsonObject } from '../../values/json.ts'
import { toTimestamp } from '../../values/time.ts'
import { nothingShown, toFieldValues, toShownFields } from '../core/field-kinds.ts'
import { operationTypes } from '../core/operations.ts'
import type { TargetSnapshot, Writeback } from '../core/outbox-entry.ts'
import type { Obstacle, ReviewFacts, TargetState } from '../core/review.ts'
import { type GuardFacts, noOwnEdits } from '../core/review-guards.ts'
import type { WritebackRequest } from '../core/writeback-request.ts'
import { createHandler } from '../handlers/all-handlers.ts'
import { targetPath, type WritebackDeps } from '../handlers/operation-handler.ts'
import type { Outbox } from '../sql/outbox.ts'
import { type ReviewSource, type RowToReview, reviewRows } from './review-rows.ts'

type CheckDeps = WritebackDeps & {
  readonly reader: Outbox
  readonly onChecked: (rows: number) => void
}

/** Bounds the parallel reads from the service. */
const maxConcurrentRows = 6

/** Checks the first `limit` rows, and stores the results. Throws ApiError if the service does not answer or denies the key. */
export async function checkSource(source: ReviewSource, deps: CheckDeps, limit: number): Promise<void> {
  const first = { ...source, rows: () => takeFirst(source.rows(), limit) }
  const reviewDeps = { readAhead: deps.reader.readAhead, readFacts: createFactsReader(deps), now: deps.now() }
  for await (const rows of reviewRows(first, reviewDeps)) await source.storeChecks(rows, toTimestamp(deps.now()))
}

function createFactsReader(deps: CheckDeps) {
  let checked = 0
  return async (sources: readonly RowToReview[]): Promise<readonly ReviewFacts[]> => {
    const mirrored = await deps.reader.readFacts(sources.map(({ row }) => row))
    const checkDeps = { ...deps, get: memoizeGet(deps.get), outbox: readOnlyOutbox(deps) }
    const readOne = async (source: RowToReview, index: number): Promise<ReviewFacts> => {
      const { request } = source.row
      const { target = null, isRefQueued = false } = mirrored[index] ?? {}
      const known = { target, obstacle: null, isRefQueued }
      if (!request.ok) return known
      const facts = isRefQueued ? known : await askService(checkDeps, request.request, source, target)
      checked += 1
      deps.onChecked(checked)
      return { ...facts, isRefQueued }
    }
    return pMap(sources, readOne, { concurrency: maxConcurrentRows })
  }
}

/** Reads each record once for a chunk of rows, however many have it as their target. */
function memoizeGet(get: ApiGet): ApiGet {
  const responses = new Map<string, Promise<ApiResponse>>()
  return (path, query) => {
    const key = `${path} ${JSON.stringify(query)}`
    const response = responses.get(key) ?? get(path, query, 'fresh')
    responses.set(key, response)
    return response
  }
}

/** Nothing may be stored, and the review itself follows the earlier replies. */
function readOnlyOutbox({ outbox }: CheckDeps): WritebackDeps['outbox'] {
  return { ...outbox, findPreviousReplyStatus: async () => null, recordBehaviours: async () => {} }
}

type AnsweredFacts = Pick<ReviewFacts, 'target' | 'obstacle'>

async function askService(
  deps: CheckDeps,
  request: WritebackRequest,
  source: RowToReview,
  mirrored: GuardFacts['target'],
): Promise<AnsweredFacts> {
  try {
    const { target } = operationTypes[request.operation]
    const live = await deps.get(targetPath(deps, request), {}, 'fresh')
    return {
      target: toTarget(live, target, mirrored),
      obstacle: await findObstacle(deps, request, source, mirrored),
    }
  } catch (error) {
    return { target: mirrored, obstacle: explainRefusal(request, error) }
  }
}

const unknownConversation = {
  ...({ kind: 'conversation', visitorName: null, lastMessageAt: null } as const),
  ...{ isLastByVisitor: false, lastVisitorMessage: null },
}

/** Names and words of a conversation come from the mirror. */
function toTarget(live: ApiResponse, target: TargetKind, mirrored: GuardFacts['target']): TargetState {
  const shown = { ...nothingShown, ...toShownFields(asJsonObject(live.data)) }
  const own = { isDeleted: false, fields: toFieldValues(target, shown) }
  if (target === 'visitor') return { kind: target, ...own }
  return { ...(mirrored?.kind === target ? mirrored : unknownConversation), ...own }
}

/** Skips a check that only records the current messages or notes: it would cost a request and show nothing. */
async function findObstacle(
  deps: CheckDeps,
  request: WritebackRequest,
  source: RowToReview,
  mirrored: GuardFacts['target'],
): Promise<Obstacle | null> {
  const isQueued = source.queued !== null
  const maySeeItself = isQueued && request.operation === 'message'
  if (request.expect === null && !operationTypes[request.operation].isIdempotent && !maySeeItself) return null
  const writeback = source.queued?.writeback ?? asIfQueued(request, toSnapshot(mirrored), toTimestamp(deps.now()))
  const outbox = isQueued ? deps.outbox : { ...deps.outbox, findOwnEdits: async () => noOwnEdits }
  const result = await createHandler(request).checkPrecondition({ deps: { ...deps, outbox }, writeback })
  if (result.canSend) return null
  return { reason: result.event === 'invalid' ? 'refused' : 'conflict', why: result.why }
}

/** Rethrows errors that do not concern this request. */
function explainRefusal({ operation }: WritebackRequest, error: unknown): Obstacle {
  if (!(error instanceof ApiError)) throw error
  const { failure } = error
  if (failure.kind === 'denied' && failure.scope !== null)
    return { reason: 'unreadable', why: `cannot be read: the key lacks the scope ${failure.scope}` }
  if (failure.kind !== 'refused' || !isRefusedByService(failure)) throw error
  if (failure.status === 404 || failure.status === 410)
    return { reason: 'deleted', why: `no such ${operationTypes[operation].target}` }
  return { reason: 'refused', why: describeFailure(failure) }
}

/** The mirror as it is now counts as what the person saw. */
function toSnapshot(mirrored: GuardFacts['target']): TargetSnapshot | null {
  if (mirrored === null || mirrored.isDeleted) return null
  return { ...mirrored.fields, ...(mirrored.kind === 'conversation' && { last_message_at: mirrored.lastMessageAt }) }
}

function asIfQueued(request: WritebackRequest, snapshot: TargetSnapshot | null, now: string): Writeback {
  const { operation, target, expiresAt } = request
  return {
    id: '',
    lane: '',
    operation,
    target,
    rawRequest: null,
    status: 'queued',
    revokedAs: null,
    attempts: 0,
    batchId: null,
    createdAt: now,
    expiresAt,
    targetSnapshot: snapshot,
    evidence: {},
    fencingToken: 0,
  }
}

async function* takeFirst<T>(items: AsyncIterable<T>, limit: number): AsyncGenerator<T> {
  let taken = 0
  if (limit === 0) return
  for await (const item of items) {
    yield item
    taken += 1
    if (taken >= limit) return
  }
}
