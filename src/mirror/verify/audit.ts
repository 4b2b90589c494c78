/**
 * An audit: reads a random sample of the mirror again, in the lowest priority, and compares. What differs is compared once
 * more after an incremental sync, because only what that sync did not bring is an error; such rows are corrected.
 *
 * drawn → read and compared → (an incremental sync) → the suspected ones read once more → the confirmed ones corrected
 *
 * All of it is in the warehouse after each step, so an audit continues where it was stopped or killed, and several processes
 * may work on one.
 */
import type { StreamName } from '../../../schema/stream-specs.ts'
import { ApiError, isBudgetUnavailable, isRefused, unreadableRowReason } from '../../service/core/api-failure.ts'
import { pathSegmentProblem } from '../../service/core/path-segment.ts'
import { formatCount } from '../../values/format.ts'
import {
  type AuditedStream,
  type AuditResult,
  type AuditRow,
  type AuditRowResult,
  type AuditRowState,
  confirmedDifferences,
  createSample,
  type OpenAudit,
  type OpenRowState,
  type Random,
} from '../core/audit.ts'
import { isMassDeletion } from '../core/mirror.ts'
import { listStreams } from '../core/streams.ts'
import type { AuditStore } from '../sql/audits.ts'
import type { Mirror } from '../sql/mirror.ts'
import { isStopped, mapConcurrently, throwIfSliceOver } from '../sync/concurrency.ts'
import { type RereadDeps, rereadByIds } from '../sync/rows-by-id.ts'
import { createRunStats } from '../sync/run.ts'
import { auditedChild, type CompareDeps, compareParent } from './compare-parent.ts'
import { learnListedFields } from './learn-listed-fields.ts'

/** `sampleSize`: how many rows are drawn at most. */
export type SampleOptions = {
  readonly store: Pick<AuditStore, 'listIds'>
  readonly sampleSize: number
  readonly random: Random
}

export type AuditDeps = CompareDeps &
  SampleOptions & {
    readonly mirror: Mirror
    readonly store: AuditStore
    readonly requestCount: () => number
    /**
     * `done`: an incremental sync of the audited streams began after the call and has ended. Throws ApiError if the sync
     * failed.
     */
    readonly catchUp: (audit: OpenAudit) => Promise<'done' | 'not yet'>
    readonly isSliceOver?: (() => boolean) | undefined
    readonly onRow?: ((stream: AuditedStream) => void) | undefined
  }

type AuditRun = AuditDeps & RereadDeps

/** `notices`: sentences for users. */
type AuditStep =
  | { readonly kind: 'finished'; readonly result: AuditResult; readonly notices: readonly string[] }
  /** The sync that must come first could not run now; continue later. */
  | { readonly kind: 'waiting' }
  /** Stopped on request, or at the end of the time slice; the next one continues. */
  | { readonly kind: 'stopped' }

/** An audit that is older is finished with what it has: the rows are read in random order, so those are a sample, too. */
const abandonedAfterMs = 20 * 3_600_000

const idsPerRead = 2000

/** The audited stream, and that of its children if the project mirrors it. */
export function auditedNames(mirrored: ReadonlySet<StreamName>, stream: AuditedStream): readonly StreamName[] {
  const child = auditedChild(stream, mirrored)
  return child === null ? [stream] : [stream, child.name]
}

/** Whether all of them have been read to their end once: before that, the mirror is known to be incomplete. */
export async function canAudit(mirror: Mirror, mirrored: ReadonlySet<StreamName>, stream: AuditedStream) {
  const names = auditedNames(mirrored, stream)
  const statuses = await mirror.readStreamStatuses(names)
  return mirrored.has(stream) && names.every((name) => statuses.get(name) === 'complete')
}

/** Begins an audit or continues the open one. Throws ApiError. */
export async function runAudit(deps: AuditDeps, stream: AuditedStream): Promise<AuditStep> {
  const notices = new Set<string>()
  const run: AuditRun = { ...deps, mode: 'reconcile', stats: createRunStats(deps.now, () => {}), notices }
  try {
    const result = await continueAudit(run, stream)
    if (result === null) return { kind: 'waiting' }
    const { gone, drawn } = result
    const what = `the service did not find ${formatCount(gone)} of ${formatCount(drawn)} ${stream} that were read again`
    if (isMassDeletion(gone, drawn)) notices.add(`nothing was marked as deleted, although ${what}: a fault is likelier`)
    return { kind: 'finished', result, notices: [...notices] }
  } catch (error) {
    if (isStopped(error)) return { kind: 'stopped' }
    throw error
  }
}

/** Null: it has to wait. */
async function continueAudit(deps: AuditRun, stream: AuditedStream): Promise<AuditResult | null> {
  const { store } = deps
  const open = await store.readOpen(stream)
  const isAbandoned = open !== null && deps.now() - open.startedAt > abandonedAfterMs
  if (isAbandoned) await store.finish(open, deps.now())
  const audit = open === null || isAbandoned ? await beginAudit(deps, stream) : open
  let hasRead = await settleAll(deps, audit, 'drawn', false)
  const suspected = await store.listRows(audit, 'suspected', 1)
  if (suspected.length > 0 && !audit.isSynced) {
    if ((await deps.catchUp(audit)) === 'not yet') return null
    await store.markSynced(audit, deps.now())
    hasRead = true
  }
  hasRead = await settleAll(deps, audit, 'suspected', hasRead)
  await settleAll(deps, audit, 'confirmed', hasRead)
  await markGone(deps, audit)
  return store.finish(audit, deps.now())
}

async function beginAudit(deps: AuditRun, stream: AuditedStream): Promise<OpenAudit> {
  const sample = await drawSample(deps, stream)
  await learnListedFields(deps, stream, sample.ids)
  return deps.store.start(stream, sample, deps.now())
}

/** `population`: how many rows could have been drawn. */
export async function drawSample({ store, sampleSize, random }: SampleOptions, stream: AuditedStream) {
  const sample = createSample(sampleSize, random)
  for (let after: string | null = null; ; ) {
    const ids: readonly string[] = await store.listIds(stream, after, idsPerRead)
    // An id that no path can contain cannot be read, so it does not belong to what the audit speaks of.
    for (const id of ids) if (pathSegmentProblem(id) === null) sample.add(id)
    after = ids.at(-1) ?? null
    if (after === null) break
  }
  return { population: sample.population(), ids: sample.draw() }
}

type SettleRow = (deps: AuditRun, audit: OpenAudit, row: AuditRow, from: OpenRowState) => Promise<AuditRowResult>

/** For the first time, or once more: then only what differed before counts. */
const compareRow: SettleRow = async (deps, { stream }, row, from) => {
  const { id } = row
  const found = await compareParent(deps, stream, id)
  if (found.kind === 'gone') return { id, differences: [], state: 'gone' }
  if (found.kind === 'unreadable') return { ...row, state: ifUnreadable(from) }
  const isFirst = from === 'drawn'
  const differences = isFirst ? found.differences : confirmedDifferences(row.differences, found.differences)
  if (differences.length > 0) return { id, differences, state: isFirst ? 'suspected' : 'confirmed' }
  const areChildrenWhole = found.children === null || found.children.incomplete === null
  return { id, differences, state: areChildrenWhole ? 'equal' : 'unreadable' }
}

/** A row that differed and cannot be read now counts as differing: another state would claim too much. */
function ifUnreadable(from: OpenRowState): AuditRowState {
  return from === 'drawn' ? 'unreadable' : 'differing'
}

/**
 * Stores the row and its children as the service has them; children that it no longer has stay, as after every sync. It is
 * stored that the row differs before it is corrected: whoever compares it next finds it equal.
 */
const correctRow: SettleRow = async (deps, { stream }, row) => {
  const result = { ...row, state: 'differing' } as const
  const found = await compareParent(deps, stream, row.id)
  if (found.kind !== 'compared') return result
  const { differences, children } = found
  if (differences.some((difference) => difference.stream === stream))
    await rereadByIds(deps, listStreams[stream], [row.id], 'reconcile')
  const child = auditedChild(stream, deps.streams)
  if (child === null || children === null || children.rows.length === 0) return result
  const { rows, requestedAt } = children
  const committed = await deps.mirror.commit({ stream: child.name, rows, requestedAt, isAuthoritative: true })
  deps.stats.recordPage(child.name, rows.length, committed)
  return result
}

/** Reads what was gone by its ids once more, which marks it as deleted, unless that is in doubt. */
async function markGone(deps: AuditRun, audit: OpenAudit): Promise<void> {
  const gone = await deps.store.listRows(audit, 'gone', audit.drawn)
  if (isMassDeletion(gone.length, audit.drawn)) return
  const ids = gone.map(({ id }) => id)
  await rereadByIds(deps, listStreams[audit.stream], ids, 'reconcile')
}

const batchSize = 40
const concurrency = 8
/** If so few rows fail after others could be read, the service fails for these rows. */
const fewRows = 5

/**
 * Settles all rows of a state, and counts the requests and the time. `hasRead`: the service let something be read just now, so
 * that it does not fail as a whole. Returns whether one was read.
 */
async function settleAll(deps: AuditRun, audit: OpenAudit, from: OpenRowState, hasReadBefore: boolean) {
  for (let hasRead = hasReadBefore; ; ) {
    const rows = await deps.store.listRows(audit, from, batchSize)
    if (rows.length === 0) return hasRead
    throwIfSliceOver(deps)
    const [startedAt, before] = [deps.now(), deps.requestCount()]
    const { results, failure } = await settleBatch(deps, audit, from, rows, hasRead)
    hasRead ||= results.length > 0
    await deps.store.settle(audit, from, results)
    // A clock that is set back does not take away from the time.
    const tookMs = Math.max(0, deps.now() - startedAt)
    await deps.store.addWork(audit, deps.requestCount() - before, tookMs)
    for (const _ of results) deps.onRow?.(audit.stream)
    if (failure !== null) throw failure
  }
}

/**
 * A row that fails while others do not is unreadable; if all of them fail, the service does. What differed before is read
 * once more as long as others can be read. `failure`: why the others are not settled.
 */
async function settleBatch(
  deps: AuditRun,
  audit: OpenAudit,
  from: OpenRowState,
  rows: readonly AuditRow[],
  hasRead: boolean,
): Promise<{ readonly results: readonly AuditRowResult[]; readonly failure: unknown }> {
  const unreadable = ifUnreadable(from)
  const failed: { readonly row: AuditRow; readonly error: unknown }[] = []
  const fatal: unknown[] = []
  const settled = await mapConcurrently(rows, concurrency, async (row): Promise<AuditRowResult | null> => {
    if (fatal.length > 0) return null
    try {
      return await (from === 'confirmed' ? correctRow : compareRow)(deps, audit, row, from)
    } catch (error) {
      if (!isOfRow(error)) fatal.push(error)
      else if (isRefused(error) || unreadableRowReason(error) !== null) return { ...row, state: unreadable }
      else failed.push({ row, error })
      return null
    }
  })
  const results = settled.filter((result) => result !== null)
  const [first] = failed
  if (fatal.length > 0 || first === undefined) return { results, failure: fatal[0] ?? null }
  const doAllFail = failed.length === rows.length
  if (doAllFail && !(hasRead && rows.length <= fewRows)) return { results: [], failure: first.error }
  const given = doAllFail || from === 'drawn' ? failed : []
  return { results: [...results, ...given.map(({ row }) => ({ ...row, state: unreadable }))], failure: null }
}

/** A failure that may concern only this row. */
function isOfRow(error: unknown): boolean {
  if (!(error instanceof ApiError) || isBudgetUnavailable(error.failure)) return false
  if (unreadableRowReason(error) !== null) return true
  return error.failure.kind !== 'aborted' && error.failure.kind !== 'denied'
}
