/**
 * An audit: reads a random sample of the mirror again, in the lowest priority, and compares. What differs is compared once
 * more after an incremental sync, because only what that sync did not bring is an error; such rows are corrected.
 *
 * drawn → read and compared → (an incremental sync) → the suspected ones read once more → finished
 *
 * All of it is in the warehouse after each step, so an audit continues where it was stopped or killed.
 */
import { ApiError, isRefused } from '../core/api-failure.ts'
import type { AuditedStream, AuditResult } from '../core/audit.ts'
import type { AuditRow, AuditRowResult, AuditStore, OpenAudit } from '../core/audit-store.ts'
import { confirmedDifferences } from '../core/audit-verdict.ts'
import type { Mirror, MirrorReader } from '../core/mirror.ts'
import { pathSegmentProblem } from '../core/path-segment.ts'
import { createSample, type Random } from '../core/sample.ts'
import { listStreams } from '../streams/list-streams.ts'
import { mapConcurrently } from '../sync/map-concurrently.ts'
import { type RereadDeps, rereadByIds } from '../sync/missing-rows.ts'
import { throwIfSliceOver } from '../sync/stop.ts'
import { auditedChild, type CompareDeps, compareParent, type ParentComparison } from './compare-parent.ts'

/** `done`: an incremental sync of the audited streams began after the call and has ended. */
export type CatchUpResult = 'done' | 'not yet'

export type AuditDeps = Omit<CompareDeps, 'mirror'> &
  Omit<RereadDeps, 'mirror'> & {
    readonly mirror: Mirror & MirrorReader
    readonly store: AuditStore
    /** How many rows are drawn at most. */
    readonly sampleSize: number
    readonly random: Random
    readonly requestCount: () => number
    /** Throws ApiError if the sync failed. */
    readonly catchUp: (audit: OpenAudit) => Promise<CatchUpResult>
    readonly isSliceOver?: () => boolean
    readonly onRow?: (stream: AuditedStream) => void
  }

/** `waiting`: the sync that must come first could not run now; continue later. */
export type AuditStep = { readonly kind: 'finished'; readonly result: AuditResult } | { readonly kind: 'waiting' }

/** An audit that is older is finished with what it has: the rows are read in random order, so those are a sample, too. */
const abandonedAfterMs = 20 * 3_600_000

const batchSize = 40
const concurrency = 8
const idsPerRead = 2000

/** Begins an audit or continues the open one. Throws ApiError, or what `throwIfSliceOver` throws. */
export async function runAudit(deps: AuditDeps, stream: AuditedStream): Promise<AuditStep> {
  const { store } = deps
  const open = await store.readOpen(stream)
  const isAbandoned = open !== null && deps.now() - open.startedAt > abandonedAfterMs
  if (isAbandoned) await store.finish(open, deps.now())
  const audit = open === null || isAbandoned ? await beginAudit(deps, stream) : open
  await settleAll(deps, audit, 'drawn', (row) => compareFirst(deps, audit, row))
  const suspected = await store.listRows(audit, 'suspected', 1)
  if (suspected.length > 0 && !audit.isSynced) {
    if ((await deps.catchUp(audit)) === 'not yet') return { kind: 'waiting' }
    await store.markSynced(audit, deps.now())
  }
  await settleAll(deps, audit, 'suspected', (row) => compareAgain(deps, audit, row))
  return { kind: 'finished', result: await store.finish(audit, deps.now()) }
}

async function beginAudit(deps: AuditDeps, stream: AuditedStream): Promise<OpenAudit> {
  return deps.store.start(stream, await drawSample(deps, stream), deps.now())
}

type DrawDeps = Pick<AuditDeps, 'sampleSize' | 'random'> & { readonly store: Pick<AuditStore, 'listIds'> }

/** `population`: how many rows could have been drawn. */
export async function drawSample({ store, sampleSize, random }: DrawDeps, stream: AuditedStream) {
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

/** Settles all rows of this state, and counts the requests and the time. */
async function settleAll(
  deps: AuditDeps,
  audit: OpenAudit,
  state: 'drawn' | 'suspected',
  settle: (row: AuditRow) => Promise<AuditRowResult>,
): Promise<void> {
  for (;;) {
    const rows = await deps.store.listRows(audit, state, batchSize)
    if (rows.length === 0) return
    throwIfSliceOver(deps)
    const [startedAt, before] = [deps.now(), deps.requestCount()]
    const { results, failure } = await settleBatch(rows, settle)
    await deps.store.settle(audit, results)
    await deps.store.addWork(audit, { requests: deps.requestCount() - before, tookMs: deps.now() - startedAt })
    for (const _ of results) deps.onRow?.(audit.stream)
    if (failure !== null) throw failure
  }
}

/** `failure`: why the others are not settled. */
type SettledBatch = { readonly results: readonly AuditRowResult[]; readonly failure: unknown }

/** A row that fails while others do not is unreadable; if all of them fail, the service does. */
async function settleBatch(
  rows: readonly AuditRow[],
  settle: (row: AuditRow) => Promise<AuditRowResult>,
): Promise<SettledBatch> {
  const failed: unknown[] = []
  const fatal: unknown[] = []
  const settled = await mapConcurrently(rows, concurrency, async (row): Promise<AuditRowResult | null> => {
    if (fatal.length > 0) return null
    try {
      return await settle(row)
    } catch (error) {
      if (!isOfRow(error)) fatal.push(error)
      else if (!isRefused(error)) failed.push(error)
      return isOfRow(error) ? { ...row, state: 'unreadable' } : null
    }
  })
  if (failed.length === rows.length) return { results: [], failure: failed[0] }
  return { results: settled.filter((result) => result !== null), failure: fatal[0] ?? null }
}

/** A failure that may concern only this row. */
function isOfRow(error: unknown): boolean {
  return error instanceof ApiError && error.failure.kind !== 'aborted' && error.failure.kind !== 'denied'
}

async function compareFirst(deps: AuditDeps, { stream }: OpenAudit, { id }: AuditRow): Promise<AuditRowResult> {
  const found = await compareParent(deps, stream, id)
  if (found.kind === 'gone') return markGone(deps, stream, id)
  if (found.kind === 'unreadable') return { id, differences: [], state: 'unreadable' }
  const { differences } = found
  return { id, differences, state: differences.length === 0 ? 'equal' : 'suspected' }
}

async function compareAgain(deps: AuditDeps, { stream }: OpenAudit, row: AuditRow): Promise<AuditRowResult> {
  const { id } = row
  const found = await compareParent(deps, stream, id)
  if (found.kind === 'gone') return markGone(deps, stream, id)
  if (found.kind === 'unreadable') return { id, differences: [], state: 'unreadable' }
  const confirmed = confirmedDifferences(row.differences, found.differences)
  if (confirmed.length === 0) return { id, differences: [], state: 'equal' }
  await correct(deps, stream, id, found)
  return { id, differences: confirmed, state: 'differing' }
}

/** Reads the row by its id once more, which marks it as deleted, unless its whole list is in doubt. */
async function markGone(deps: AuditDeps, stream: AuditedStream, id: string): Promise<AuditRowResult> {
  await rereadByIds(deps, listStreams[stream], [id], 'reconcile')
  return { id, differences: [], state: 'gone' }
}

/** Stores the row and its children as the service has them. Children that it no longer has stay, as after every sync. */
async function correct(
  deps: AuditDeps,
  stream: AuditedStream,
  id: string,
  { differences, children }: Extract<ParentComparison, { kind: 'compared' }>,
): Promise<void> {
  if (differences.some((difference) => difference.stream === stream))
    await rereadByIds(deps, listStreams[stream], [id], 'reconcile')
  const child = auditedChild(stream, deps.streams)
  if (child === null || children === null || children.rows.length === 0) return
  const { rows, requestedAt } = children
  const result = await deps.mirror.commit({ stream: child.name, rows, requestedAt, isAuthoritative: true })
  deps.stats.recordPage(child.name, rows.length, result)
}
