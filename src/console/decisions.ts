/**
 * The decisions of the console: what they are about, and that they are made with the functions of
 * the command line.
 */

import { decideBatch, decideSending, revertBatchOf } from '../app/batches.ts'
import { decideWritebacks } from '../app/outbox.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import { countOperations, estimateBatchMs } from '../outbox/core/batches.ts'
import { changedStatuses, decisions, isAboutProject } from '../outbox/core/decisions.ts'
import { reviewOutcomes } from '../outbox/core/review/terms.ts'
import { presentStatuses } from '../outbox/core/state.ts'
import type {
  BatchDecisionReport,
  DecisionName,
  DecisionReport,
  DecisionTerms,
  Operation,
  OutboxFilter,
  ReviewOutcome,
  SelectionMismatch,
} from '../outbox/outbox.ts'
import { withOutboxSnapshot } from '../outbox/sql/outbox.ts'
import { steadyLimits } from '../service/core/budget.ts'
import { decodeSegment, escapeName, withQuery } from '../values/address.ts'
import { addressOf } from './blocks.ts'
import type { DecisionSubject } from './core/permissions.ts'
import type { ConsoleProject } from './project.ts'
import type { Reviews } from './reviews.ts'
import type { ProjectRequest, Values } from './screen.ts'

/** What is decided about: a whole batch, rows of it, or write-backs by their ids. */
export type DecisionTarget = {
  readonly batch: string | null
  /** Null: all of the batch, or, without a batch, all sending of the project. */
  readonly ids: readonly string[] | null
  /** Those rows of the batch that would do this. */
  readonly would: ReviewOutcome | null
}

/**
 * The page before a decision. `only`: of the rows, those of one operation; `after`: behind the last
 * row of another page.
 */
export function confirmAddress(
  frame: Parameters<typeof addressOf>[0],
  decision: DecisionName,
  { batch, ids, would }: DecisionTarget,
  {
    only = null,
    after = null,
  }: { readonly only?: Operation | null; readonly after?: string | null } = {},
): string {
  const named = { decision, batch: batch === null ? null : escapeName(batch), would, only, after }
  const address = withQuery(addressOf(frame, 'confirm'), named)
  return ids === null
    ? address
    : `${address}&${new URLSearchParams(ids.map((id): [string, string] => ['id', id]))}`
}

/** More are decided about as a whole batch, or by what they would do. */
const maxIds = 200
/** More than an address takes, as a name is escaped. */
const maxNameLength = 9000

/** Null: it does not say what it is about. */
export function targetOf(values: Values, decision: DecisionName): DecisionTarget | null {
  if (isAboutProject(decision)) return { batch: null, ids: null, would: null }
  const [named] = values('batch')
  const batch = named === undefined ? null : decodeSegment(named)
  const [outcome] = values('would')
  const ids = [...new Set(values('id'))]
  const would = reviewOutcomes.find((known) => known === outcome) ?? null
  // Our forms have no such names, and they would be written to the log.
  if ([named ?? '', ...ids].some((name) => /\p{Cc}/u.test(name) || name.length > maxNameLength))
    return null
  if (ids.length > maxIds || (batch === null && ids.length === 0)) return null
  if (outcome !== undefined && (would === null || batch === null)) return null
  return { batch, ids: ids.length === 0 ? null : ids, would: ids.length === 0 ? would : null }
}

/** The rows that the decision can change, so that the digest names these. */
export async function filterOf(
  reviews: Reviews,
  project: ConsoleProject,
  decision: DecisionName,
  { batch, ids, would }: DecisionTarget,
): Promise<OutboxFilter> {
  const chosen =
    would !== null && batch !== null ? await reviews.idsByOutcome(project, batch, would) : ids
  return {
    ...(batch === null ? {} : { batch }),
    // Without a batch and without ids it would be everything.
    ...(chosen === null ? (batch === null ? { ids: [] } : {}) : { ids: chosen }),
    ...(decision === 'resume'
      ? { isResumable: true as const }
      : { statuses: changedStatuses(decision, ids !== null) }),
  }
}

const wholeSelection = { only: null, after: 0 }

export type Selection = Awaited<ReturnType<typeof readSelection>>

/**
 * What a decision is about: a page of its rows, and the digest that names all of them. `only` null:
 * of all operations. `after`: a place in the queue.
 */
export async function readSelection(
  { db, project }: Pick<ProjectRequest, 'db' | 'project'>,
  filter: OutboxFilter,
  limit = 0,
  { only, after }: { readonly only: Operation | null; readonly after: number } = wholeSelection,
) {
  return withOutboxSnapshot(db, async (outbox) => {
    const named = await outbox.digestOf(filter)
    const shown = only === null ? filter : { ...filter, operations: [only] }
    const entries = limit === 0 ? [] : await outbox.list(shown, limit, after)
    const counts = countOperations(await outbox.countByOperation(filter))
    const queuedEarlier =
      filter.batch === undefined ? 0 : await outbox.countQueuedEarlier(filter.batch)
    return {
      named,
      /** How many of them may have arrived before. */
      mayHaveArrived: await outbox.countMayHaveArrived(filter),
      entries: await outbox.nameEntries(entries),
      counts,
      /** Of all of them, if they were decided about now. */
      takesMs: estimateBatchMs(steadyLimits(project), counts, queuedEarlier),
      batch: filter.batch === undefined ? null : await outbox.findBatch(filter.batch),
    }
  })
}

/** What of the selection says who may decide: all of a batch, or these ids. */
export function subjectOf(
  { entries, batch, mayHaveArrived }: Pick<Selection, 'entries' | 'batch' | 'mayHaveArrived'>,
  ids: DecisionTarget['ids'],
): DecisionSubject {
  const hasArrived = { mayHaveArrived: mayHaveArrived > 0 }
  if (ids === null) {
    const statuses = presentStatuses(batch?.counts ?? {})
    return { createdBy: batch?.createdBy ?? null, statuses, isByIds: false, ...hasArrived }
  }
  const [creator = null, ...others] = new Set(entries.map(({ createdBy }) => createdBy))
  const statuses = entries.map(({ status }) => status)
  const createdBy = others.length === 0 ? creator : null
  return { createdBy, statuses, isByIds: true, ...hasArrived }
}

/** `digest`: of what was shown. Null: the decision takes effect whatever has changed since. */
type DecisionRequest = DecisionTarget &
  Required<Pick<DecisionTerms, 'by' | 'audit'>> & {
    readonly decision: DecisionName
    readonly digest: string | null
  }

/** `inFlight`: they cannot be called back. `revert`: what a revert queued. */
export type MadeDecision = Exclude<Awaited<ReturnType<typeof decide>>, SelectionMismatch>

/** Nothing is decided if what was shown has changed. Throws UserError. */
export async function decide(
  config: Config,
  reviews: Reviews,
  project: ConsoleProject,
  request: DecisionRequest,
) {
  const settings = settingsOf(config, project)
  const { decision, by, audit, batch } = request
  const { event, about } = decisions[decision]
  if (isAboutProject(decision)) {
    await decideSending(config, settings, decision, { by, audit })
    return { moved: 1, stayed: [], inFlight: 0, revert: null }
  }
  if (event === null) {
    const revert = await revertBatchOf(config, settings, { batch: requireName(batch), by, audit })
    return { moved: revert.queued, stayed: [], inFlight: 0, revert }
  }
  const filter = isTakenAnyway(request) ? null : await filterOf(reviews, project, decision, request)
  const terms = {
    by,
    audit,
    ...(filter === null ? {} : { shown: { filter, digest: request.digest ?? '' } }),
  }
  const report: DecisionReport | BatchDecisionReport | SelectionMismatch =
    about === 'batch'
      ? await decideBatch(config, settings, event, { batch: requireName(batch), ...terms })
      : await decideWritebacks(config, settings, event, {
          selection: filter ?? selectionOf(request),
          ...terms,
        })
  if ('outcome' in report) return report
  const { moved, stayed, inFlight } = { stayed: [], inFlight: 0, ...report }
  return { moved, stayed, inFlight, revert: null }
}

/**
 * What is being sent changes from second to second; to cancel less of it than was shown does no
 * harm.
 */
function isTakenAnyway({ decision, digest, would }: DecisionRequest): boolean {
  return (
    decisions[decision].taken === 'anyway' ||
    (decision === 'cancel' && digest === null && would === null)
  )
}

function selectionOf({ batch, ids }: DecisionTarget): OutboxFilter {
  return ids === null
    ? { batch: requireName(batch) }
    : { ids, ...(batch === null ? {} : { batch }) }
}

function requireName(batch: string | null): string {
  if (batch === null) throw new Error('this decision is about a batch')
  return batch
}

export function settingsOf({ projects }: Config, { name }: ConsoleProject): ProjectConfig {
  const found = projects.find((project) => project.name === name)
  if (found === undefined) throw new Error(`${name} is no longer configured`)
  return found
}
