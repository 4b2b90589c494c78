/** The decisions of the console, made with the functions of the command line. */
import type { Config, ProjectConfig } from '../../config/config.ts'
import { changedStatuses, type DecisionName, outboxDecisionOf } from '../../core/console/decisions.ts'
import type { OutboxFilter } from '../../core/outbox/admin.ts'
import type { RevertReport, SelectionMismatch } from '../../core/outbox/batches.ts'
import type { DecisionReport } from '../../core/outbox/reports.ts'
import type { ReviewOutcome } from '../../core/outbox/review.ts'
import type { EpochMs } from '../../core/time.ts'
import { decideBatch, revertBatchOf } from '../batches.ts'
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
export type DecisionRequest = DecisionTarget & { readonly digest: string | null; readonly by: string }

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
  reads: Pick<WritebackReads, 'idsByOutcome' | 'selection'>,
  now: () => EpochMs,
) {
  return {
    importDrafts: (project: ConsoleProject, request: ImportRequest): Promise<ImportResult> =>
      importDrafts(config(), settingsOf(config(), project), request, now()),
    decide: async (project: ConsoleProject, request: DecisionRequest): Promise<DecisionOutcome> => {
      const settings = settingsOf(config(), project)
      const { decision, batch, by } = request
      switch (decision) {
        case 'stop':
          return made(await decideBatch(config(), settings, 'stopped', { batch: requireName(batch), by }))
        case 'resume': {
          const mismatch = await findMismatch(reads, project, settings, request)
          if (mismatch !== null) return { kind: 'moved', mismatch }
          return made(await decideBatch(config(), settings, 'resumed', { batch: requireName(batch), by }))
        }
        case 'revert': {
          const revert = await revertBatchOf(config(), settings, { batch: requireName(batch), by })
          return { kind: 'made', made: { moved: revert.queued, stayed: [], inFlight: 0, revert } }
        }
        case 'undo':
          return made(
            await decideWritebacks(config(), settings, 'approval_undone', { selection: toSelection(request), by }),
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
  const { decision, digest, by } = request
  // What is being sent changes from second to second; to send less than was shown does no harm.
  if (decision === 'cancel' && digest === null && request.would === null)
    return made(await decideWritebacks(config, settings, 'cancelled', { selection: toSelection(request), by }))
  const selection = await filterOf(reads, project, request)
  const shown = { filter: selection, digest: digest ?? '' }
  const report = await decideShown(config, settings, outboxDecisionOf[decision], { selection, by, shown })
  return 'outcome' in report ? { kind: 'moved', mismatch: report } : made(report)
}

function toSelection({ batch, ids }: DecisionTarget): OutboxFilter {
  return ids === null ? { batch: requireName(batch) } : { ids, ...(batch === null ? {} : { batch }) }
}

/** The drafts of a stopped batch go on as a whole, so only new or changed ones can differ. */
async function findMismatch(
  reads: Pick<WritebackReads, 'idsByOutcome' | 'selection'>,
  project: ConsoleProject,
  { name }: ProjectConfig,
  request: DecisionRequest,
): Promise<SelectionMismatch | null> {
  const { named, batch } = await reads.selection(project, await filterOf(reads, project, request), 0)
  if (named.digest === request.digest) return null
  return { outcome: 'moved', project: name, now: named, counts: batch?.counts ?? {}, steps: [] }
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
