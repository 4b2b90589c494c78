/**
 * An audit reads a random sample of the mirror again, in the lowest priority, and compares. What
 * differs is compared once more after an incremental sync: only what that did not bring is an
 * error, and is corrected.
 *
 * It stores one row when it has ended. What is interrupted leaves none, and the next audit draws
 * again: nothing is lost, as rows are corrected last, and without the service.
 */
import type { StreamName } from '../../../schema/stream-specs.ts'
import {
  ApiError,
  isBudgetUnavailable,
  isRefused,
  throwIfAborted,
} from '../../service/core/api-failure.ts'
import { pathSegmentProblem } from '../../service/core/path-segment.ts'
import { formatCount } from '../../values/format.ts'
import { type EpochMs, type Ms, toTimestamp } from '../../values/time.ts'
import { batchesOf } from '../../warehouse/dialect.ts'
import {
  type AuditedStream,
  confirmedDifferences,
  createSample,
  type SeenDifference,
  withoutHash,
} from '../core/audit.ts'
import { isMassDeletion, type MirrorCommit } from '../core/mirror.ts'
import type { AuditStore } from '../sql/audits.ts'
import type { Mirror } from '../sql/mirror.ts'
import { mapConcurrently } from '../sync/concurrency.ts'
import { auditedChild, compareParent, type ParentResult } from './compare-parent.ts'
import { learnListedFields } from './learn-listed-fields.ts'
import type { CompareDeps } from './read-rows.ts'

/** `sampleSize`: how many rows are drawn at most. */
export type SampleOptions = {
  readonly store: Pick<AuditStore, 'listIds'>
  readonly sampleSize: number
  /** A number from 0 to below 1. */
  readonly random: () => number
}

export type AuditDeps = CompareDeps &
  SampleOptions & {
    readonly mirror: Mirror
    readonly store: AuditStore
    readonly requestCount: () => number
    /** An incremental sync of the stream and its children, to its end. Throws ApiError. */
    readonly catchUp: (stream: AuditedStream) => Promise<void>
    readonly onRow?: ((stream: AuditedStream) => void) | undefined
  }

/** A longer audit ends with what it has read: in random order, so that is a sample, too. */
const maxReadMs: Ms = 20 * 3_600_000

const idsPerRead = 2000

/** The audited stream, and that of its children if the project mirrors it. */
export function auditedNames(
  mirrored: ReadonlySet<StreamName>,
  stream: AuditedStream,
): readonly StreamName[] {
  const child = auditedChild(stream, mirrored)
  return child === null ? [stream] : [stream, child.name]
}

/** All of them have been read to their end once. */
export async function canAudit(
  mirror: Mirror,
  mirrored: ReadonlySet<StreamName>,
  stream: AuditedStream,
) {
  const names = auditedNames(mirrored, stream)
  const statuses = await mirror.readStreamStatuses(names)
  return mirrored.has(stream) && names.every((name) => statuses.get(name) === 'complete')
}

/** Throws ApiError, also when it is interrupted. */
export async function runAudit(deps: AuditDeps, stream: AuditedStream) {
  const startedAt = deps.now()
  const requestsBefore = deps.requestCount()
  const sample = await drawSample(deps, stream)
  await learnListedFields(deps, stream, sample.ids)
  const first = await compareRows(deps, stream, sample.ids, {
    until: startedAt + maxReadMs,
    hasRead: false,
  })
  const outcomes = await compareAgain(deps, stream, first)
  const count = (kind: RowOutcome['kind']) =>
    [...outcomes.values()].filter((outcome) => outcome.kind === kind).length
  const differing = [...outcomes.values()].filter((outcome) => outcome.kind === 'differing')
  const gone = [...outcomes].flatMap(([id, { kind }]) => (kind === 'gone' ? [id] : []))
  const notices = await markDeleted(deps, stream, gone, outcomes.size)
  const corrected = await mapConcurrently(differing, concurrency, (row) =>
    correct(deps.mirror, row),
  )
  const seen = differing.flatMap(({ differences }) => differences)
  const endedAt = deps.now()
  const counts = {
    population: sample.population,
    drawn: sample.ids.length,
    compared: count('equal') + differing.length,
    differing: differing.length,
    corrected: corrected.filter((isCorrected) => isCorrected).length,
    gone: gone.length,
    unreadable: count('unreadable'),
    requests: deps.requestCount() - requestsBefore,
    // A clock that is set back makes no negative time.
    tookMs: Math.max(0, endedAt - startedAt),
  }
  const audit = { stream, startedAt: toTimestamp(startedAt), ...counts }
  const result = await deps.store.add(audit, seen, endedAt)
  return { result, differences: seen.map(withoutHash), notices }
}

/** `population`: how many rows could have been drawn. */
export async function drawSample(
  { store, sampleSize, random, signal }: SampleOptions & Pick<CompareDeps, 'signal'>,
  stream: AuditedStream,
) {
  const sample = createSample(sampleSize, random)
  for (let after: string | null = null; ; ) {
    throwIfAborted(signal)
    const ids: readonly string[] = await store.listIds(stream, after, idsPerRead)
    // An id that no path can contain cannot be read again.
    for (const id of ids) if (pathSegmentProblem(id) === null) sample.add(id)
    after = ids.at(-1) ?? null
    if (after === null) break
  }
  return { population: sample.population(), ids: sample.draw() }
}

type RowOutcome =
  | { readonly kind: 'equal' | 'gone' | 'unreadable' }
  | {
      readonly kind: 'differing'
      readonly differences: readonly SeenDifference[]
      readonly corrections: readonly MirrorCommit[]
    }

/** Compares what is not equal once more after an incremental sync. The outcomes by id. */
async function compareAgain(
  deps: AuditDeps,
  stream: AuditedStream,
  first: ReadonlyMap<string, ParentResult>,
): Promise<ReadonlyMap<string, RowOutcome>> {
  const doubtful = [...first].flatMap(([id, result]) => (isDoubtful(result) ? [id] : []))
  if (doubtful.length > 0) await deps.catchUp(stream)
  // Of a person who was erased meanwhile nothing is stored again.
  const erased = await deps.mirror.readErased(doubtful.map((id) => id.toLowerCase()))
  const ids = doubtful.filter((id) => !erased.has(id.toLowerCase()))
  const second = await compareRows(deps, stream, ids, {
    until: Number.POSITIVE_INFINITY,
    hasRead: true,
  })
  return new Map([...first].map(([id, result]) => [id, toOutcome(result, second.get(id))]))
}

function isDoubtful(result: ParentResult): boolean {
  return result.kind === 'gone' || (result.kind === 'compared' && result.differences.length > 0)
}

/** `second`: undefined if the row was compared only once. */
function toOutcome(first: ParentResult, second: ParentResult | undefined): RowOutcome {
  if (second === undefined) return isDoubtful(first) ? { kind: 'unreadable' } : toUndoubted(first)
  if (second.kind === 'gone' || first.kind !== 'compared') return toUndoubted(second)
  // It differed and cannot be read now: another outcome would claim too much.
  if (second.kind === 'unreadable')
    return { kind: 'differing', differences: first.differences, corrections: [] }
  const differences = confirmedDifferences(first.differences, second.differences)
  return differences.length === 0
    ? toUndoubted(second)
    : { kind: 'differing', differences, corrections: second.corrections }
}

/** Apart from differences that do not count. */
function toUndoubted(result: ParentResult): RowOutcome {
  if (result.kind !== 'compared') return { kind: result.kind }
  return { kind: (result.children?.incomplete ?? null) === null ? 'equal' : 'unreadable' }
}

const batchSize = 40
const concurrency = 8
/** If so few rows fail after others could be read, the service fails for these rows. */
const fewRows = 5

/**
 * Compares rows until a time. A row that fails while others do not is unreadable; if all of a batch
 * fail, the service does. `hasRead`: it let something be read just now.
 */
async function compareRows(
  deps: AuditDeps,
  stream: AuditedStream,
  ids: readonly string[],
  { until, hasRead: hasReadBefore }: { readonly until: EpochMs; readonly hasRead: boolean },
): Promise<ReadonlyMap<string, ParentResult>> {
  const results = new Map<string, ParentResult>()
  let hasRead = hasReadBefore
  for (const batch of batchesOf(ids, batchSize)) {
    if (deps.now() >= until) break
    const failures: unknown[] = []
    await mapConcurrently(batch, concurrency, async (id) => {
      throwIfAborted(deps.signal)
      const result = await compareParent(deps, stream, id).catch((error: unknown): ParentResult => {
        if (!isOfRow(error)) throw error
        if (!isRefused(error)) failures.push(error)
        return { kind: 'unreadable' }
      })
      results.set(id, result)
      deps.onRow?.(stream)
    })
    const isAnyRead = failures.length < batch.length
    if (!isAnyRead && !(hasRead && batch.length <= fewRows)) throw failures[0]
    hasRead ||= isAnyRead
  }
  return results
}

/** A failure that may concern only this row. */
function isOfRow(error: unknown): boolean {
  if (!(error instanceof ApiError) || isBudgetUnavailable(error.failure)) return false
  return error.failure.kind !== 'aborted' && error.failure.kind !== 'denied'
}

/** Stores and marks rows as a sync does. Returns whether nothing differs any more. */
async function correct(
  mirror: Pick<Mirror, 'commit'>,
  { differences, corrections }: Extract<RowOutcome, { kind: 'differing' }>,
): Promise<boolean> {
  let isComplete = corrections.length > 0
  let toMark = differences.filter(({ kind }) => kind === 'gone there').length
  for (const correction of corrections) {
    const { rejectedRows = [], unlisted } = await mirror.commit(correction)
    if (rejectedRows.length > 0) isComplete = false
    toMark -= unlisted?.marked ?? 0
  }
  return isComplete && toMark <= 0
}

/** Unless that is in doubt; then it says why. */
async function markDeleted(
  { mirror, now }: AuditDeps,
  stream: AuditedStream,
  ids: readonly string[],
  read: number,
): Promise<readonly string[]> {
  if (isMassDeletion(ids.length, read)) {
    const what =
      `the service did not find ${formatCount(ids.length)} of ${formatCount(read)} ${stream} ` +
      'that were read again'
    return [`nothing was marked as deleted, although ${what}: a fault is likelier`]
  }
  const doubts = new Set<string>()
  for (const id of ids) {
    const doubt = await mirror.markDeleted(stream, id, now())
    if (doubt !== null) doubts.add(doubt)
  }
  return [...doubts]
}
