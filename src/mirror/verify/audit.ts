/**
 * An audit: reads a random sample of the mirror again, in the lowest priority, and compares. What differs is compared once
 * more after an incremental sync, because only what that sync did not bring is an error; such rows are corrected.
 *
 * drawn → read and compared → (an incremental sync) → the suspected ones read once more → the confirmed ones corrected
 *
 * All of it is in the warehouse after each step, so an audit continues where it was stopped or killed, and several processes
 * may work on one.
 */

import { pathSegmentProblem } from '../../service/core/path-segment.ts'
import type { AuditedStream, AuditResult } from '../core/audit.ts'
import {
  type AuditRow,
  type AuditRowResult,
  type AuditStore,
  confirmedDifferences,
  type OpenAudit,
} from '../core/audit-store.ts'
import { isMassDeletion } from '../core/mass-deletion.ts'
import { createSample, type Random } from '../core/sample.ts'
import type { Mirror } from '../sql/mirror.ts'
import { listStreams } from '../streams/list-streams.ts'
import { type RereadDeps, rereadByIds } from '../sync/missing-rows.ts'
import { auditedChild, type CompareDeps, compareParent, type ParentComparison } from './compare-parent.ts'
import { learnListedFields } from './learn-listed-fields.ts'
import { settleAll } from './settle-audit-rows.ts'

/** `done`: an incremental sync of the audited streams began after the call and has ended. */
export type CatchUpResult = 'done' | 'not yet'

export type AuditDeps = Omit<CompareDeps, 'mirror'> &
  Omit<RereadDeps, 'mirror'> & {
    readonly mirror: Mirror
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

const idsPerRead = 2000

/** Begins an audit or continues the open one. Throws ApiError, or what `throwIfSliceOver` throws. */
export async function runAudit(deps: AuditDeps, stream: AuditedStream): Promise<AuditStep> {
  const { store } = deps
  const open = await store.readOpen(stream)
  const isAbandoned = open !== null && deps.now() - open.startedAt > abandonedAfterMs
  if (isAbandoned) await store.finish(open, deps.now())
  const audit = open === null || isAbandoned ? await beginAudit(deps, stream) : open
  let hasRead = await settleAll(deps, audit, {
    from: 'drawn',
    hasRead: false,
    settle: (row) => compareFirst(deps, audit, row),
  })
  const suspected = await store.listRows(audit, 'suspected', 1)
  if (suspected.length > 0 && !audit.isSynced) {
    if ((await deps.catchUp(audit)) === 'not yet') return { kind: 'waiting' }
    await store.markSynced(audit, deps.now())
    hasRead = true
  }
  hasRead = await settleAll(deps, audit, {
    from: 'suspected',
    hasRead,
    settle: (row) => compareAgain(deps, audit, row),
  })
  await settleAll(deps, audit, { from: 'confirmed', hasRead, settle: (row) => correctRow(deps, audit, row) })
  await markGone(deps, audit)
  return { kind: 'finished', result: await store.finish(audit, deps.now()) }
}

async function beginAudit(deps: AuditDeps, stream: AuditedStream): Promise<OpenAudit> {
  const sample = await drawSample(deps, stream)
  await learnListedFields(deps, stream, sample.ids)
  return deps.store.start(stream, sample, deps.now())
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

async function compareFirst(deps: AuditDeps, { stream }: OpenAudit, { id }: AuditRow): Promise<AuditRowResult> {
  const found = await compareParent(deps, stream, id)
  if (found.kind !== 'compared') return { id, differences: [], state: found.kind }
  const { differences } = found
  if (differences.length > 0) return { id, differences, state: 'suspected' }
  return { id, differences, state: isWhole(found) ? 'equal' : 'unreadable' }
}

/** A row that differed and cannot be read now counts as differing: another state would claim too much. */
async function compareAgain(deps: AuditDeps, { stream }: OpenAudit, row: AuditRow): Promise<AuditRowResult> {
  const { id } = row
  const found = await compareParent(deps, stream, id)
  if (found.kind === 'gone') return { id, differences: [], state: 'gone' }
  if (found.kind === 'unreadable') return { ...row, state: 'differing' }
  const confirmed = confirmedDifferences(row.differences, found.differences)
  if (confirmed.length > 0) return { id, differences: confirmed, state: 'confirmed' }
  return { id, differences: [], state: isWhole(found) ? 'equal' : 'unreadable' }
}

/** Its children could all be read. */
function isWhole({ children }: Extract<ParentComparison, { kind: 'compared' }>): boolean {
  return children === null || children.incomplete === null
}

/** It is stored that the row differs before it is corrected: whoever compares it next finds it equal. */
async function correctRow(deps: AuditDeps, { stream }: OpenAudit, row: AuditRow): Promise<AuditRowResult> {
  const found = await compareParent(deps, stream, row.id)
  if (found.kind === 'compared') await correct(deps, stream, row.id, found)
  return { ...row, state: 'differing' }
}

/** Reads what was gone by its ids once more, which marks it as deleted, unless that is in doubt. */
async function markGone(deps: AuditDeps, audit: OpenAudit): Promise<void> {
  const gone = await deps.store.listRows(audit, 'gone', audit.drawn)
  if (isMassDeletion(gone.length, audit.drawn)) return
  const ids = gone.map(({ id }) => id)
  await rereadByIds(deps, listStreams[audit.stream], ids, 'reconcile')
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
