/**
 * Previews an import against the service's current records: reads each target once and checks the preconditions.
 * Queues and sends nothing. The current mirror counts as what the person saw.
 */
import pMap from 'p-map'
import { ApiError, describeFailure, isRefusedByService } from '../../core/api-failure.ts'
import type { ApiGet, ApiResponse } from '../../core/api-request.ts'
import { asJsonObject, parseJson } from '../../core/json.ts'
import type { LinePreview } from '../../core/outbox/reports.ts'
import type { TargetSnapshot, Writeback } from '../../core/outbox/repository.ts'
import {
  operationTypes,
  type TargetKind,
  toLaneName,
  type WritebackRequest,
} from '../../core/outbox/writeback-request.ts'
import { type EpochMs, parseTime, rfc3339, toTimestamp } from '../../core/time.ts'
import { visitors } from '../../streams/list-streams.ts'
import type { WritebackDeps } from '../deps.ts'
import { conversationPath } from '../operations/conversation.ts'
import { createHandler } from '../operations/handlers.ts'
import type { OperationHandler, PreconditionResult, PreviewDetail } from '../operations/operation-handler.ts'

/** An import line without a mistake. */
export type ValidLine = { readonly line: number; readonly request: WritebackRequest }

export type PreviewDeps = WritebackDeps & {
  /** The refs that were queued before. */
  readonly findDuplicateRefs: (refs: readonly string[]) => Promise<ReadonlySet<string>>
  /** The default for lines without an expiry. */
  readonly expiresAt: string | null
  readonly onProgress: (lineCount: number) => void
}

/** Bounds the parallel reads from the service. */
const maxConcurrentLines = 6

/** Throws ApiError if the service does not answer or denies the key. */
export async function previewLines(deps: PreviewDeps, lines: readonly ValidLine[]): Promise<readonly LinePreview[]> {
  const known: KnownRows = {
    snapshots: await readTargetSnapshots(deps, lines),
    refs: await deps.findDuplicateRefs(lines.flatMap(({ request }) => request.ref ?? [])),
  }
  const previewDeps: PreviewDeps = { ...deps, get: memoizeGet(deps.get), outbox: readOnlyOutbox(deps) }
  let doneCount = 0
  const preview = async ({ line, request }: ValidLine): Promise<LinePreview> => {
    const { operation, target } = request
    const detail = await describeRequest(previewDeps, request, known)
    doneCount += 1
    deps.onProgress(doneCount)
    return { line, operation, target, ...detail, after: null }
  }
  return linkSameTarget(await pMap(lines, preview, { concurrency: maxConcurrentLines }))
}

/** What the warehouse has: the targets of the lines as they are mirrored, and the refs that were queued before. */
type KnownRows = { readonly snapshots: ReadonlyMap<string, TargetSnapshot>; readonly refs: ReadonlySet<string> }

/** Reads each record once, however many lines have it as their target. */
function memoizeGet(get: ApiGet): ApiGet {
  const responses = new Map<string, Promise<ApiResponse>>()
  return (path, query) => {
    const key = `${path} ${JSON.stringify(query)}`
    const response = responses.get(key) ?? get(path, query, 'fresh')
    responses.set(key, response)
    return response
  }
}

/** Previewed requests are not in the queue, and nothing may be stored. */
function readOnlyOutbox({ outbox }: PreviewDeps): WritebackDeps['outbox'] {
  return {
    ...outbox,
    findOwnEdit: async () => undefined,
    findPreviousReplyStatus: async () => null,
    recordBehaviours: async () => {},
  }
}

async function readTargetSnapshots(
  deps: PreviewDeps,
  lines: readonly ValidLine[],
): Promise<ReadonlyMap<string, TargetSnapshot>> {
  const kindOf = ({ request }: ValidLine) => operationTypes[request.operation].target
  const idsOf = (kind: TargetKind) => lines.filter((line) => kindOf(line) === kind).map(({ request }) => request.target)
  const conversations = await deps.mirror.readRawById('conversations', [...new Set(idsOf('conversation'))])
  const records = [...conversations, ...(await deps.mirror.readRawById('visitors', [...new Set(idsOf('visitor'))]))]
  return new Map(records.map(([id, raw]) => [id, toTargetSnapshot(raw)]))
}

function toTargetSnapshot(raw: string): TargetSnapshot {
  const fields = asJsonObject(parseJson(raw))
  const text = (value: unknown) => (typeof value === 'string' ? value : null)
  return { last_message_at: text(fields?.lastMessageAt), name: text(fields?.name), email: text(fields?.email) }
}

async function describeRequest(deps: PreviewDeps, request: WritebackRequest, known: KnownRows): Promise<PreviewDetail> {
  const { target, ref } = request
  if (ref !== null && known.refs.has(ref)) return { would: 'known', detail: `its ref ${ref} was queued before` }
  const expiry = parseTime(request.expiresAt ?? deps.expiresAt)
  if (expiry !== undefined && expiry * 1000 <= deps.now())
    return { would: 'fail', detail: `expired at ${rfc3339(expiry)}` }
  try {
    const isConversation = operationTypes[request.operation].target === 'conversation'
    const path = isConversation ? conversationPath(target) : visitors.rowPath(deps.projectId, target)
    const live = await deps.get(path, {}, 'fresh')
    const handler = createHandler(request)
    const precondition = await checkPrecondition(deps, request, handler, known.snapshots.get(target) ?? null)
    if (precondition.canSend) return handler.describePreview(live, precondition)
    return { would: precondition.event === 'invalid' ? 'fail' : 'conflict', detail: precondition.why }
  } catch (error) {
    return describePreviewError(request, error)
  }
}

/** Skips a check that only records the current messages: it would cost a request and show nothing. */
async function checkPrecondition(
  deps: PreviewDeps,
  request: WritebackRequest,
  handler: OperationHandler,
  snapshot: TargetSnapshot | null,
): Promise<PreconditionResult> {
  const { operation, expect } = request
  if (expect === null && !operationTypes[operation].isIdempotent) return { canSend: true, body: {}, before: {} }
  return handler.checkPrecondition({ deps, writeback: asIfQueued(request, snapshot, deps.now()) })
}

/** Rethrows errors that do not concern this request. */
function describePreviewError({ operation }: WritebackRequest, error: unknown): PreviewDetail {
  if (!(error instanceof ApiError)) throw error
  const { failure } = error
  if (failure.kind === 'denied' && failure.scope !== null)
    return { would: 'unknown', detail: `cannot be read: the key lacks the scope ${failure.scope}` }
  if (failure.kind !== 'refused' || !isRefusedByService(failure)) throw error
  const isMissing = failure.status === 404
  return { would: 'fail', detail: isMissing ? `no such ${operationTypes[operation].target}` : describeFailure(failure) }
}

function asIfQueued(request: WritebackRequest, snapshot: TargetSnapshot | null, now: EpochMs): Writeback {
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
    createdAt: toTimestamp(now),
    expiresAt,
    targetSnapshot: snapshot,
    evidence: {},
    fencingToken: 0,
  }
}

/** Lines are compared with the current record and not with the effect of earlier lines, so earlier ones are named. */
function linkSameTarget(previews: readonly LinePreview[]): readonly LinePreview[] {
  const last = new Map<string, number>()
  return previews.map((preview) => {
    const lane = toLaneName(operationTypes[preview.operation].target, preview.target)
    const after = last.get(lane) ?? null
    last.set(lane, preview.line)
    return { ...preview, after }
  })
}
