/** The use cases of batches: list, show, stop, resume and take back, each with a warehouse opened for it. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Config, ProjectConfig } from '../config/config.ts'
import { countOperations, estimateBatchMs, longestRest } from '../outbox/core/batches.ts'
import { approvable, describeMismatch, requireBatch } from '../outbox/decide.ts'
import type {
  BatchDecision,
  BatchDecisionReport,
  BatchEstimate,
  BatchesReport,
  BatchOutcome,
  BatchReport,
  BatchSummary,
  DecisionTerms,
  Outbox,
  RevertReport,
  RevertRequest,
  SelectionMismatch,
  StatusCounts,
} from '../outbox/outbox.ts'
import { revertBatch } from '../outbox/revert.ts'
import { compareWithChecks } from '../outbox/review/review-rows.ts'
import { evaluateCircuits, outcomesConsidered } from '../outbox/send/circuit-breaker.ts'
import { createSends } from '../outbox/sql/sends.ts'
import type { BudgetPolicy } from '../service/core/margin.ts'
import type { ProjectName } from '../values/project.ts'
import { type EpochMs, type Ms, toTimestamp } from '../values/time.ts'
import { UserError } from '../values/user-error.ts'
import { readClock } from '../warehouse/dialect.ts'
import type { Warehouse } from './open.ts'
import { clockNotices, hasWorker, withOutbox } from './outbox.ts'
import { readSlotLimits } from './request-budgets.ts'

/** `before`: the name of a batch; only older ones are listed. */
export function listBatches(
  config: Config,
  project: ProjectConfig,
  { limit, before }: { readonly limit: number; readonly before?: string },
): Promise<BatchesReport> {
  return withOutbox(config, project, async (outbox, warehouse) => {
    const from = before === undefined ? undefined : await requireBatch(outbox, before, 'nothing was listed')
    const found = await outbox.listBatches(limit + 1, from)
    const batches = []
    for (const batch of found.slice(0, limit))
      batches.push({ ...batch, estimate: await estimateBatch(outbox, warehouse, project, batch) })
    return { project: project.name, batches, more: found.length > limit }
  })
}

/** What is needed of a project's settings: its rates are for estimates. */
type BatchProject = Pick<ProjectConfig, 'name' | 'projectId' | keyof BudgetPolicy>

const samplesPerOutcome = 3

/** `name`: a batch's name or a unique beginning of it. Throws UserError if there is none. */
export function showBatch(config: Config, project: ProjectConfig, name: string): Promise<BatchReport> {
  return withOutbox(config, project, async (outbox, warehouse) => readBatch(outbox, warehouse, project, name))
}

/** The same with an open warehouse, for pages and for watching. */
export async function readBatch(
  outbox: Outbox,
  warehouse: Warehouse,
  project: BatchProject,
  name: string,
): Promise<BatchReport> {
  const batch = await requireBatch(outbox, name, 'nothing was shown')
  const approval = await outbox.digestOf({ batch: batch.id, statuses: approvable })
  const outcomes: BatchOutcome[] = []
  for (const { operation, status, count } of await outbox.countByOperation({ batch: batch.id })) {
    const which = { batch: batch.id, operations: [operation], statuses: [status] }
    const samples = await outbox.nameEntries(await outbox.list(which, samplesPerOutcome))
    outcomes.push({ operation, status, count, samples })
  }
  return {
    project: project.name,
    batch,
    outcomes,
    reasons: await outbox.groupReasons({ batch: batch.id }),
    checked: await compareWithChecks(outbox, batch.id),
    estimate: await estimateBatch(outbox, warehouse, project, batch),
    approval: batch.stoppedAt !== null || approval.count === 0 ? null : approval,
    revertedBy: await outbox.findRevertOf(batch.id),
    revertible: await outbox.countRevertible(batch.id),
  }
}

/** How long the rest of a batch takes; of one that is not approved: once it is. */
export async function estimateBatch(
  outbox: Outbox,
  warehouse: Warehouse,
  project: BatchProject,
  { id, counts }: Pick<BatchSummary, 'id' | 'counts'>,
): Promise<BatchEstimate> {
  const { draft = 0, queued = 0, sending = 0 } = counts
  const left = draft + queued + sending
  const worker = await hasWorker(warehouse)
  const none = { left, ahead: 0, takesMs: 0, restsUntil: null, restsBecause: null, worker }
  if (left === 0) return none
  const open = countOperations(await outbox.countByOperation({ batch: id, statuses: ['draft', 'queued', 'sending'] }))
  const ahead = await outbox.countAhead(id)
  const limits = await readSlotLimits(warehouse, project)
  const clock = await readClock(warehouse.db, warehouse.kind)
  const now = clock()
  const { all, batches } = evaluateCircuits(await outbox.listRecentOutcomes(outcomesConsidered), now)
  const circuit = all ?? batches.get(id)
  const pause = circuit === undefined ? null : { until: circuit.until, because: circuit.why }
  const rest = longestRest([pause, await outbox.findBatchRest(id)], now)
  return {
    ...none,
    ahead,
    takesMs: estimateBatchMs(limits, open, ahead) + (rest === null ? 0 : rest.until - now),
    restsUntil: rest === null ? null : toTimestamp(rest.until),
    restsBecause: rest?.because ?? null,
  }
}

type BatchDecisionRequest = Pick<DecisionTerms, 'by' | 'audit' | 'shown'> & { readonly batch: string }

/**
 * Stops a batch or goes on with it. Throws UserError if it is so already. If what was `shown` has changed, nothing is
 * decided. `by`: the person's name.
 */
export function decideBatch(
  config: Config,
  project: ProjectConfig,
  decision: BatchDecision,
  { batch: name, by, ...options }: BatchDecisionRequest,
): Promise<BatchDecisionReport | SelectionMismatch> {
  return withOutbox(config, project, async (outbox, warehouse) => {
    const batch = await requireBatch(outbox, name)
    const result = await outbox.decideBatch(decision, batch.id, by, options)
    if (result === null) throw unchangedBatch(batch, decision)
    if (!('inFlight' in result))
      return { project: project.name, ...(await describeMismatch(outbox, { batch: batch.id }, result.moved)) }
    return { project: project.name, batch: batch.id, decision, ...result, ...(await clockNotices(warehouse)) }
  })
}

/** Lets a project send again whose warehouse went back in time. Throws UserError if its sending is not held. */
export function resumeRestored(
  config: Config,
  project: ProjectConfig,
  { by, queued }: { readonly by: string; readonly queued: 'draft' | 'send' },
): Promise<{ readonly project: ProjectName; readonly drafts: number }> {
  return withOutbox(config, project, async (_, warehouse) => {
    const resumed = await createSends(warehouse.projectDb(project.projectId)).resume(by, queued)
    if (resumed !== null) return { project: project.name, ...resumed }
    throw new UserError({
      what: 'nothing was changed',
      why: `the sending of ${project.name} is not held`,
      next: '`deskmirror status` shows its state; a restored backup is noticed when the next write-back is to be sent',
      exitCode: 2,
    })
  })
}

function unchangedBatch({ id, state, stoppedAt, stoppedBy }: BatchSummary, decision: BatchDecision): UserError {
  const error = (why: string, next: string) => new UserError({ what: 'nothing was changed', why, next, exitCode: 2 })
  const show = `\`deskmirror writeback batches show ${id}\` shows it`
  if (decision === 'resumed') return error(`${id} is not stopped`, show)
  if (stoppedAt !== null)
    return error(
      `${id} was stopped by ${stoppedBy} at ${stoppedAt}`,
      `\`deskmirror writeback resume --batch ${id}\` goes on`,
    )
  if (state !== 'draft') return error(`nothing of ${id} is left to send`, show)
  const next = `to give it up: \`deskmirror writeback cancel --batch ${id}\``
  return error(`${id} waits for approval, so nothing of it is sent`, next)
}

/** Queues the inverse of a batch as a draft batch. Throws UserError if it is still being sent, or was taken back before. */
export function revertBatchOf(config: Config, project: ProjectConfig, request: RevertRequest): Promise<RevertReport> {
  return withOutbox(config, project, async (outbox, warehouse) => {
    const report = await revertBatch(outbox, request)
    return { project: project.name, ...report, ...(await clockNotices(warehouse)) }
  })
}

type WatchOptions = {
  readonly everyMs: Ms
  readonly signal: AbortSignal
  readonly onProgress: (progress: BatchProgress, report: BatchReport) => void
}

/**
 * Until nothing more happens to the batch without a person, or `signal`. Returns the last reading. Throws UserError if there
 * is no such batch.
 */
export function watchBatch(
  config: Config,
  project: ProjectConfig,
  name: string,
  { everyMs, signal, onProgress }: WatchOptions,
): Promise<BatchReport> {
  return withOutbox(config, project, async (outbox, warehouse) => {
    let first: BatchReading | null = null
    for (;;) {
      const report = await readBatch(outbox, warehouse, project, name)
      const reading = { at: Date.now(), report }
      first ??= reading
      onProgress(toBatchProgress(first, reading), report)
      const isIdle = report.batch.state !== 'sending' && (report.batch.counts.sending ?? 0) === 0
      if (isIdle || signal.aborted) return report
      await sleep(everyMs, undefined, { signal }).catch(() => {})
    }
  })
}

type BatchReading = { readonly at: EpochMs; readonly report: BatchReport }

export type BatchProgress = ReturnType<typeof toBatchProgress>

/** A rate over a shorter time says nothing. */
const minRateTime: Ms = 5000

export function toBatchProgress(first: BatchReading, { at, report }: BatchReading) {
  const { batch, estimate } = report
  const settled = countSettled(batch.counts)
  const took = at - first.at
  const moving = batch.state === 'sending'
  return {
    rows: batch.rows,
    /** Rows whose outcome is known, whatever it is. */
    settled,
    counts: batch.counts,
    /** Settled in a minute since the first reading; null if that was too short ago to say. */
    perMinute: took < minRateTime ? null : ((settled - countSettled(first.report.batch.counts)) / took) * 60_000,
    /** When the last row will be settled; null if nothing is sent or nothing is left. */
    doneAt: moving && estimate.left > 0 ? at + estimate.takesMs : null,
    restsUntil: estimate.restsUntil,
    restsBecause: estimate.restsBecause,
  }
}

function countSettled(counts: StatusCounts): number {
  const { succeeded = 0, failed = 0, conflict = 0, uncertain = 0, cancelled = 0, expired = 0 } = counts
  return succeeded + failed + conflict + uncertain + cancelled + expired
}
