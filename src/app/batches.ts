/** The use cases of batches: list, show, stop, resume, take back. Each opens the warehouse. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config, ProjectConfig } from '../config/config.ts'
import { decisions } from '../outbox/core/decisions.ts'
import { executeBatchDecision } from '../outbox/decide.ts'
import type {
  BatchDecision,
  BatchDecisionReport,
  BatchDecisionRequest,
  BatchesReport,
  BatchProgress,
  BatchReport,
  DecisionTerms,
  Outbox,
  ProjectDecision,
  RevertReport,
  SelectionMismatch,
} from '../outbox/outbox.ts'
import {
  listBatches as batchesOf,
  readBatch as batchOf,
  toBatchProgress,
} from '../outbox/read-reports.ts'
import { revertBatch } from '../outbox/revert.ts'
import { evaluateCircuits } from '../outbox/send/circuit-breaker.ts'
import type { BudgetPolicy } from '../service/core/budget-policy.ts'
import type { ProjectName } from '../values/project.ts'
import type { Ms } from '../values/time.ts'
import { UserError } from '../values/user-error.ts'
import { readClock } from '../warehouse/dialect.ts'
import type { Warehouse } from './open.ts'
import { clockNotices, readPace, withOutbox } from './outbox.ts'

/** `before`: the name of a batch; only older ones are listed. */
export function listBatches(
  config: Config,
  project: ProjectConfig,
  which: Parameters<typeof batchesOf>[2],
): Promise<BatchesReport> {
  return withOutbox(config, project, async (outbox, warehouse) => ({
    project: project.name,
    ...(await batchesOf(outbox, await readPace(warehouse, project), which)),
  }))
}

/** `name`: a batch's name or a unique beginning of it. Throws UserError if there is none. */
export function showBatch(
  config: Config,
  project: ProjectConfig,
  name: string,
): Promise<BatchReport> {
  return withOutbox(config, project, (outbox, warehouse) =>
    readBatch(outbox, warehouse, project, name),
  )
}

async function readBatch(
  outbox: Outbox,
  warehouse: Warehouse,
  project: BudgetPolicy & Pick<ProjectConfig, 'name' | 'projectId'>,
  name: string,
): Promise<BatchReport> {
  return {
    project: project.name,
    ...(await batchOf(outbox, await readPace(warehouse, project), name)),
  }
}

/**
 * Throws UserError if the batch is so already. If what was `shown` has changed, nothing is decided.
 */
export function decideBatch(
  config: Config,
  project: ProjectConfig,
  decision: BatchDecision,
  request: BatchDecisionRequest,
): Promise<BatchDecisionReport | SelectionMismatch> {
  return withOutbox(config, project, async (outbox, warehouse) => {
    const report = await executeBatchDecision(outbox, decision, request)
    return {
      project: project.name,
      ...report,
      ...('outcome' in report ? {} : await clockNotices(warehouse)),
    }
  })
}

/** All sending of a project. Throws UserError if it is so already. */
export function decideSending(
  config: Config,
  project: ProjectConfig,
  decision: ProjectDecision,
  terms: Pick<DecisionTerms, 'by' | 'audit'>,
): Promise<{
  readonly project: ProjectName
  readonly decision: ProjectDecision
  readonly notices?: readonly string[]
}> {
  return withOutbox(config, project, async (outbox, warehouse) => {
    const { name } = project
    const facts = await readSendingFacts(outbox, warehouse)
    const isOffered = decisions[decision].isOfferedForSending?.(facts) === true
    if (isOffered && (await outbox.decideSending(decision, terms)))
      return { project: name, decision, ...(await clockNotices(warehouse)) }
    const why = {
      stop_all: `the sending of ${name} is stopped already`,
      resume_all: `the sending of ${name} is not stopped`,
      close_circuit: `no circuit breaker of ${name} is open`,
    }[decision]
    const next = '`deskmirror status` shows its state'
    throw new UserError({ what: 'nothing was changed', why, next })
  })
}

/** `stop`: who stopped all sending, and when; `why`: of the circuit breaker. */
export async function readSendingFacts(outbox: Outbox, { db, kind }: Warehouse) {
  const clock = await readClock(db, kind)
  const { all, batches } = evaluateCircuits(await outbox.listRecentOutcomes(), clock())
  const stop = await outbox.readSendingStop()
  const open = [...(all === null ? [] : [all]), ...batches.values()]
  return {
    isStopped: stop !== null,
    isCircuitOpen: open.length > 0,
    stop,
    why: open[0]?.why ?? null,
  }
}

/** As drafts. Throws UserError if the batch is still being sent, or was taken back before. */
export function revertBatchOf(
  config: Config,
  project: ProjectConfig,
  request: Omit<BatchDecisionRequest, 'shown'>,
): Promise<RevertReport> {
  return withOutbox(config, project, async (outbox, warehouse) => {
    const report = await revertBatch(outbox, request)
    return { project: project.name, ...report, ...(await clockNotices(warehouse)) }
  })
}

/**
 * Until nothing more happens to it without a person. Throws UserError if there is no such batch.
 */
export function watchBatch(
  config: Config,
  project: ProjectConfig,
  name: string,
  {
    everyMs,
    signal,
    onProgress,
  }: {
    readonly everyMs: Ms
    readonly signal: AbortSignal
    readonly onProgress: (progress: BatchProgress, report: BatchReport) => void
  },
): Promise<BatchReport> {
  return withOutbox(config, project, async (outbox, warehouse) => {
    let first: Parameters<typeof toBatchProgress>[0] | null = null
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
