/** Reviews of batches that have not left, which take longer than a page may: one for all who ask for the same. */

import { createTurns, rememberResults } from '../http/remember-results.ts'
import { describeChange, describeDifference, describeGroup, describeOrder } from '../outbox/core/review-labels.ts'
import type { CheckedReview, Outbox, ReviewOutcome, StatusCounts } from '../outbox/outbox.ts'
import { batchSource, reviewSource } from '../outbox/review/review-rows.ts'
import { formatCount } from '../values/format.ts'
import type { ProjectId } from '../values/project.ts'
import type { EpochMs, Ms } from '../values/time.ts'
import type { Check } from './checks.ts'
import type { ConsoleProject } from './project.ts'

export type Reviews = ReturnType<typeof createReviews>
/** What a row of a batch that has not left would do. */
export type ReviewedRow = ReturnType<typeof toReviewedRow>

/** Of each outcome: nobody looks through more, and they are kept in memory for a while. */
const reviewedRows = 1000
const reviewHoldsMs: Ms = 20_000
/** A small batch is reviewed by then. */
const reviewWaitsMs: Ms = 100

/** Of its counts and the last check: with others it is another review. */
export function reviewVersion(counts: StatusCounts, check: Check | null): string {
  return `${JSON.stringify(counts)} ${check?.isRunning === false ? check.rows : ''}`
}

type BatchOfProject = { readonly project: ConsoleProject; readonly batch: string }

/** What is reviewed, and when. */
type Reviewed = { readonly outbox: Outbox; readonly at: EpochMs }

export function createReviews(open: (project: ProjectId) => Promise<Reviewed>, now: () => EpochMs) {
  const inTurn = createTurns()
  const remember = <T>(
    read: (reviewed: Reviewed, batch: string, signal: AbortSignal) => Promise<T>,
    maxKeys?: number,
  ) =>
    rememberResults({
      ...{ maxAgeMs: reviewHoldsMs, now, ...(maxKeys === undefined ? {} : { maxKeys }) },
      read: ({ project, batch }: BatchOfProject, signal) =>
        inTurn(async () => read(await open(project.projectId), batch, signal)),
    })
  const reviews = remember(readReview)
  const outcomes = remember(groupByOutcome, 4)
  return {
    /** Null: it is still being read. `version`: see `reviewVersion`. */
    ofBatch: (project: ConsoleProject, batch: string, version: string, signal?: AbortSignal) =>
      reviews.soon(`${project.projectId} ${batch} ${version}`, { project, batch }, reviewWaitsMs, signal),
    /** The ids of the rows of a batch that would do this, in the order of the queue. `signal`: the client has left. */
    idsByOutcome: async (project: ConsoleProject, batch: string, outcome: ReviewOutcome, signal?: AbortSignal) =>
      (await outcomes.get(`${project.projectId} ${batch}`, { project, batch }, signal)).get(outcome) ?? [],
  }
}

/** Of each outcome, so many rows as people look through. `at`: when. `checked`: rows that were checked with the service. */
async function readReview(reviewed: Reviewed, batch: string, signal: AbortSignal) {
  const kept = new Map<ReviewOutcome, number>()
  const rows: ReviewedRow[] = []
  const { counts, groups, checks } = await review(reviewed, batch, signal, (row) => {
    const count = kept.get(row.outcome) ?? 0
    kept.set(row.outcome, count + 1)
    if (count < reviewedRows) rows.push(toReviewedRow(row))
  })
  const named = groups.map((group) => ({ outcome: group.outcome, text: describeGroup(group, formatCount) }))
  return { at: reviewed.at, counts, groups: named, checked: checks.rows, differing: checks.differing, rows }
}

/** `differs`: what the service showed instead. */
function toReviewedRow(row: CheckedReview) {
  const { position, place, id, action, outcome, target, visitorName, lastWords, check } = row
  return {
    ...{ position, place, id: id ?? '', action, outcome, target, visitorName },
    lastWords: lastWords?.text ?? null,
    effect: `${row.why ?? row.changes.map(describeChange).join(', ')}${describeOrder(row)}`,
    differs: check?.differs === true ? describeDifference(row) : null,
  }
}

async function groupByOutcome(reviewed: Reviewed, batch: string, signal: AbortSignal) {
  const ids = new Map<ReviewOutcome, string[]>()
  await review(reviewed, batch, signal, ({ id, outcome }) => {
    if (id === null) return
    const known = ids.get(outcome)
    if (known === undefined) ids.set(outcome, [id])
    else known.push(id)
  })
  return ids
}

async function review(
  { outbox, at }: Reviewed,
  batch: string,
  signal: AbortSignal,
  onReview: (review: CheckedReview) => void,
) {
  const listBatch: typeof outbox.listBatch = async (...page) => {
    signal.throwIfAborted()
    return outbox.listBatch(...page)
  }
  const source = batchSource({ ...outbox, listBatch }, batch)
  return reviewSource(source, { reader: outbox, now: at }, async (rows) => rows.forEach(onReview))
}
