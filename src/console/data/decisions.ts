/** The decisions of the console, made with the functions of the command line. */

import { decideBatch, revertBatchOf } from '../../app/batches.ts'
import { decideWritebacks } from '../../app/outbox.ts'
import type { Config, ProjectConfig } from '../../config/config.ts'
import type { BatchDecisionReport, RevertReport, SelectionMismatch } from '../../outbox/core/batches.ts'
import {
  changedStatuses,
  type DecisionName,
  type DecisionTerms,
  decisions,
  type OutboxFilter,
} from '../../outbox/core/decisions.ts'
import type { DecisionReport } from '../../outbox/core/reports.ts'
import type { ReviewOutcome } from '../../outbox/core/review.ts'
import type { EpochMs } from '../../values/time.ts'
import type { ConsoleProject } from './console-project.ts'
import { type ImportRequest, type ImportResult, importDrafts } from './import-drafts.ts'
import type { WritebackReads } from './writeback-data.ts'

/** What is decided about: a whole batch, rows of it, or write-backs by their ids. */
export type DecisionTarget = {
  readonly decision: DecisionName
  readonly batch: string | null
  /** Null: all of the batch. */
  readonly ids: readonly string[] | null
  /** Those rows of the batch that would do this. */
  readonly would: ReviewOutcome | null
}

/** `digest`: of what was shown. Null: the decision takes effect whatever has changed since. */
type DecisionRequest = DecisionTarget &
  Required<Pick<DecisionTerms, 'by' | 'audit'>> & { readonly digest: string | null }

export type MadeDecision = {
  readonly moved: number
  readonly stayed: DecisionReport['stayed']
  /** In flight, so they cannot be called back. */
  readonly inFlight: number
  /** What a revert queued. */
  readonly revert: RevertReport | null
}

export type DecisionOutcome =
  | { readonly kind: 'made'; readonly made: MadeDecision }
  | { readonly kind: 'moved'; readonly mismatch: SelectionMismatch }

/** The rows that the decision can change, so that the digest names these. */
export async function filterOf(
  reads: Pick<WritebackReads, 'idsByOutcome'>,
  project: ConsoleProject,
  { decision, batch, ids, would }: DecisionTarget,
  signal?: AbortSignal,
): Promise<OutboxFilter> {
  const chosen = would !== null && batch !== null ? await reads.idsByOutcome(project, batch, would, signal) : ids
  return {
    ...(batch === null ? {} : { batch }),
    // Without a batch and without ids it would be everything.
    ...(chosen === null ? (batch === null ? { ids: [] } : {}) : { ids: chosen }),
    ...(decision === 'resume' ? { isResumable: true as const } : { statuses: changedStatuses(decision, ids !== null) }),
  }
}

export type ConsoleDecisions = ReturnType<typeof createConsoleDecisions>

/** `config`: asked each time, as it can be reloaded. */
export function createConsoleDecisions(
  config: () => Config,
  reads: Pick<WritebackReads, 'idsByOutcome'>,
  now: () => EpochMs,
) {
  return {
    importDrafts: (project: ConsoleProject, request: ImportRequest): Promise<ImportResult> =>
      importDrafts(config(), settingsOf(config(), project), request, now()),
    decide: async (project: ConsoleProject, request: DecisionRequest): Promise<DecisionOutcome> => {
      const settings = settingsOf(config(), project)
      const { decision, by, audit } = request
      const { event, isAboutBatch } = decisions[decision]
      if (event === null) {
        const revert = await revertBatchOf(config(), settings, { batch: requireName(request.batch), by, audit })
        return { kind: 'made', made: { moved: revert.queued, stayed: [], inFlight: 0, revert } }
      }
      const filter = isTakenAnyway(request) ? null : await filterOf(reads, project, request)
      const terms = { by, audit, ...(filter === null ? {} : { shown: { filter, digest: request.digest ?? '' } }) }
      if (isAboutBatch)
        return toOutcome(await decideBatch(config(), settings, event, { batch: requireName(request.batch), ...terms }))
      const selection = filter ?? toSelection(request)
      return toOutcome(await decideWritebacks(config(), settings, event, { selection, ...terms }))
    },
  }
}

/** What is being sent changes from second to second; to cancel less of it than was shown does no harm. */
function isTakenAnyway({ decision, digest, would }: DecisionRequest): boolean {
  return decisions[decision].taken === 'anyway' || (decision === 'cancel' && digest === null && would === null)
}

function toSelection({ batch, ids }: DecisionTarget): OutboxFilter {
  return ids === null ? { batch: requireName(batch) } : { ids, ...(batch === null ? {} : { batch }) }
}

function toOutcome(report: DecisionReport | BatchDecisionReport | SelectionMismatch): DecisionOutcome {
  if ('outcome' in report) return { kind: 'moved', mismatch: report }
  const { stayed, inFlight } = { stayed: [], inFlight: 0, ...report }
  return { kind: 'made', made: { moved: report.moved, stayed, inFlight, revert: null } }
}

function requireName(batch: string | null): string {
  if (batch === null) throw new Error('this decision is about a batch')
  return batch
}

function settingsOf({ projects }: Config, { name }: ConsoleProject): ProjectConfig {
  const found = projects.find((project) => project.name === name)
  if (found === undefined) throw new Error(`${name} is no longer configured`)
  return found
}
