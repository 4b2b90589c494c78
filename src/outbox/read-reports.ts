/**
 * Reads what people see of write-backs and batches: outcomes, reasons, and how long the rest takes.
 */

import type { ProjectName } from '../values/project.ts'
import type { EpochMs, Ms } from '../values/time.ts'
import {
  type BatchEstimate,
  type BatchesReport,
  type BatchOutcome,
  type BatchReport,
  type BatchSummary,
  countOperations,
  estimateBatchMs,
  longestRest,
  type Pace,
  pauseReason,
  toRestReport,
} from './core/batches.ts'
import type { Candidate, EventLogEntry, NamedEntry } from './core/outbox-entry.ts'
import {
  isSettled,
  laneBlockingStatuses,
  presentStatuses,
  type StatusCounts,
  type WritebackStatus,
} from './core/state.ts'
import { approvable, requireBatch, resolveIds } from './decide.ts'
import { evaluateCircuits } from './send/circuit-breaker.ts'
import type { Outbox } from './sql/outbox.ts'

export type ShowWritebackReport = {
  readonly project: ProjectName
  readonly writeback: NamedEntry
  readonly events: readonly EventLogEntry[]
  /** Messages that may be it, although no response proved it. */
  readonly candidates: readonly Candidate[]
  /** The write-back that must be settled before this one can be sent; null if none. */
  readonly waitsFor: { readonly id: string; readonly status: WritebackStatus } | null
  /** How many write-backs of the same target wait for this one. */
  readonly holds: number
}

/** `id` may be a prefix. Throws UserError if it matches no write-back or several. */
export async function readWriteback(
  outbox: Outbox,
  id: string,
): Promise<Omit<ShowWritebackReport, 'project'>> {
  const ids = await resolveIds(outbox, [id], 'nothing was shown')
  const entries = await outbox.list({ ids }, 1)
  const [writeback] = await outbox.nameEntries(entries)
  if (writeback === undefined) throw new Error('an id that was just found is gone')
  const target = writeback.conversationId ?? writeback.visitorId ?? ''
  const lane = await outbox.list({ target, statuses: laneBlockingStatuses }, 1000)
  const isOpen = laneBlockingStatuses.some((status) => status === writeback.status)
  const before = isOpen ? lane.find(({ seq }) => seq < writeback.seq) : undefined
  return {
    writeback,
    events: await outbox.listEvents(writeback.id),
    candidates: await outbox.readCandidates(writeback.id),
    waitsFor: before === undefined ? null : { id: before.id, status: before.status },
    holds: isOpen ? lane.filter(({ seq }) => seq > writeback.seq).length : 0,
  }
}

/** `before`: the name of a batch; only older ones are listed. */
export async function listBatches(
  outbox: Outbox,
  pace: Pace,
  { limit, before }: { readonly limit: number; readonly before?: string | undefined },
): Promise<Omit<BatchesReport, 'project'>> {
  const from =
    before === undefined ? undefined : await requireBatch(outbox, before, 'nothing was listed')
  const found = await outbox.listBatches(limit + 1, from)
  const batches = []
  for (const batch of found.slice(0, limit))
    batches.push({ ...batch, estimate: await estimateBatch(outbox, pace, batch) })
  return { batches, more: found.length > limit }
}

const samplesPerOutcome = 3

export async function readBatch(
  outbox: Outbox,
  pace: Pace,
  name: string,
): Promise<Omit<BatchReport, 'project'>> {
  const batch = await requireBatch(outbox, name, 'nothing was shown')
  const approval = await outbox.digestOf({ batch: batch.id, statuses: approvable })
  const isApprovable = batch.stoppedAt === null && approval.count > 0
  return { ...(await describeBatch(outbox, pace, batch)), approval: isApprovable ? approval : null }
}

/** Without the digest, which takes a tenth of a second for tens of thousands of drafts. */
export async function describeBatch(
  outbox: Outbox,
  pace: Pace,
  batch: BatchSummary,
): Promise<Omit<BatchReport, 'project' | 'approval'>> {
  const counted = await outbox.countByOperation({ batch: batch.id })
  const withSamples = async ({
    operation,
    status,
    count,
  }: (typeof counted)[number]): Promise<BatchOutcome> => {
    const which = { batch: batch.id, operations: [operation], statuses: [status] }
    const samples = await outbox.nameEntries(await outbox.list(which, samplesPerOutcome))
    return { operation, status, count, samples }
  }
  const [outcomes, reasons, estimate, revertedBy, revertible] = await Promise.all([
    Promise.all(counted.map(withSamples)),
    outbox.groupReasons({ batch: batch.id }),
    estimateBatch(outbox, pace, batch, counted),
    outbox.findRevertOf(batch.id),
    outbox.countRevertible(batch.id),
  ])
  return { batch, outcomes, reasons, estimate, revertedBy, revertible }
}

/** How long the rest of a batch takes; of one that is not approved: once it is. */
async function estimateBatch(
  outbox: Outbox,
  { limits, worker, now, pausedUntil, whyStopped }: Pace,
  { id, counts }: Pick<BatchSummary, 'id' | 'counts'>,
  counted: Awaited<ReturnType<Outbox['countByOperation']>> | null = null,
): Promise<BatchEstimate> {
  const { draft = 0, queued = 0, sending = 0 } = counts
  const left = draft + queued + sending
  const none = { left, queuedEarlier: 0, takesMs: 0, worker, whyStopped, ...toRestReport(null) }
  if (left === 0) return none
  const statuses: readonly WritebackStatus[] = ['draft', 'queued', 'sending']
  const ofBatch = counted ?? (await outbox.countByOperation({ batch: id, statuses }))
  const open = countOperations(ofBatch.filter(({ status }) => statuses.includes(status)))
  const queuedEarlier = await outbox.countQueuedEarlier(id)
  const { all, batches } = evaluateCircuits(await outbox.listRecentOutcomes(), now)
  const circuit = all ?? batches.get(id) ?? null
  const asked = pausedUntil === null ? null : { until: pausedUntil, why: pauseReason }
  const rest = longestRest([circuit, asked, await outbox.findBatchRest(id)], now)
  return {
    ...none,
    queuedEarlier,
    takesMs: estimateBatchMs(limits, open, queuedEarlier) + (rest === null ? 0 : rest.until - now),
    ...toRestReport(rest),
  }
}

type BatchReading = { readonly at: EpochMs; readonly report: BatchReport }

export type BatchProgress = ReturnType<typeof toBatchProgress>

/** A rate over a shorter time says nothing. */
const minRateTime: Ms = 5000

export function toBatchProgress(first: BatchReading, { at, report }: BatchReading) {
  const { batch, estimate } = report
  const settled = countSettled(batch.counts)
  const took = at - first.at
  // When what was sent is answered, or found, nobody knows.
  const moving = batch.state === 'sending' && (batch.counts.queued ?? 0) > 0
  return {
    rows: batch.rows,
    /** Rows whose outcome is known, whatever it is. */
    settled,
    counts: batch.counts,
    /** Settled in a minute since the first reading; null if that was too short ago to say. */
    perMinute:
      took < minRateTime
        ? null
        : ((settled - countSettled(first.report.batch.counts)) / took) * 60_000,
    /** When the last row will be settled; null if nothing is sent, or only answers are awaited. */
    doneAt: moving && estimate.left > 0 ? at + estimate.takesMs : null,
    restsUntil: estimate.restsUntil,
    restsBecause: estimate.restsBecause,
  }
}

function countSettled(counts: StatusCounts): number {
  return presentStatuses(counts)
    .filter(isSettled)
    .reduce((sum, status) => sum + (counts[status] ?? 0), 0)
}
