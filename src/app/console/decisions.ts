/** The decisions of the console, made with the functions of the command line. */
import type { Config, ProjectConfig } from '../../config/config.ts'
import { changedStatuses, type DecisionName, outboxDecisionOf } from '../../core/console/decisions.ts'
import type { DecisionTerms, OutboxFilter } from '../../core/outbox/admin.ts'
import type { BatchDecisionReport, RevertReport, SelectionMismatch } from '../../core/outbox/batches.ts'
import type { DecisionReport } from '../../core/outbox/reports.ts'
import type { ReviewOutcome } from '../../core/outbox/review.ts'
import type { EpochMs } from '../../core/time.ts'
import { decideBatch, decideShownBatch, revertBatchOf } from '../batches.ts'
import { decideShown, decideWritebacks } from '../outbox.ts'
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
export type DecisionRequest = DecisionTarget &
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
      const { decision, batch, by, audit } = request
      switch (decision) {
        case 'stop':
          return made(await decideBatch(config(), settings, 'stopped', { batch: requireName(batch), by, audit }))
        case 'resume': {
          // The drafts of a stopped batch go on as a whole, so only new or changed ones can differ.
          const shown = { filter: await filterOf(reads, project, request), digest: request.digest ?? '' }
          const asked = { batch: requireName(batch), by, audit, shown }
          return toOutcome(await decideShownBatch(config(), settings, 'resumed', asked))
        }
        case 'revert': {
          const revert = await revertBatchOf(config(), settings, { batch: requireName(batch), by, audit })
          return { kind: 'made', made: { moved: revert.queued, stayed: [], inFlight: 0, revert } }
        }
        case 'undo':
          return made(
            await decideWritebacks(config(), settings, 'approval_undone', {
              selection: toSelection(request),
              by,
              audit,
            }),
          )
        default:
          return decideRows(config(), project, settings, reads, { ...request, decision })
      }
    },
  }
}

type RowDecision = Exclude<DecisionName, 'stop' | 'resume' | 'revert' | 'undo'>

async function decideRows(
  config: Config,
  project: ConsoleProject,
  settings: ProjectConfig,
  reads: Pick<WritebackReads, 'idsByOutcome'>,
  request: DecisionRequest & { readonly decision: RowDecision },
): Promise<DecisionOutcome> {
  const { decision, digest, by, audit } = request
  // What is being sent changes from second to second; to send less than was shown does no harm.
  if (decision === 'cancel' && digest === null && request.would === null)
    return made(await decideWritebacks(config, settings, 'cancelled', { selection: toSelection(request), by, audit }))
  const selection = await filterOf(reads, project, request)
  const shown = { filter: selection, digest: digest ?? '' }
  const report = await decideShown(config, settings, outboxDecisionOf[decision], { selection, by, audit, shown })
  return toOutcome(report)
}

function toSelection({ batch, ids }: DecisionTarget): OutboxFilter {
  return ids === null ? { batch: requireName(batch) } : { ids, ...(batch === null ? {} : { batch }) }
}

function toOutcome(report: DecisionReport | BatchDecisionReport | SelectionMismatch): DecisionOutcome {
  return 'outcome' in report ? { kind: 'moved', mismatch: report } : made(report)
}

function made({
  moved,
  ...report
}: Pick<DecisionReport, 'moved'> & Partial<DecisionReport> & { inFlight?: number }): DecisionOutcome {
  return { kind: 'made', made: { moved, stayed: report.stayed ?? [], inFlight: report.inFlight ?? 0, revert: null } }
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
