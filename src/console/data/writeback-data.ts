/** What the pages about write-backs show: read with the functions of the command line, apart from all other work. */

import { type BatchProject, estimateBatch, readBatch } from '../../app/batches.ts'
import { readSlotLimits } from '../../app/learned-margins.ts'
import type { Warehouse } from '../../app/open.ts'
import { findOpenGrace, readWriteback } from '../../app/outbox.ts'
import { createTurns, rememberResults } from '../../http/remember-results.ts'
import { estimateBatchMs } from '../../outbox/core/batches.ts'
import type { OutboxFilter } from '../../outbox/core/decisions.ts'
import type { ReviewOutcome } from '../../outbox/core/review.ts'
import { describeChange, describeDifference, describeGroup, describeOrder } from '../../outbox/core/review-labels.ts'
import type { CheckedReview } from '../../outbox/core/review-summary.ts'
import type { WritebackStatus } from '../../outbox/core/state.ts'
import { batchSource, reviewSource } from '../../outbox/review/review-source.ts'
import { formatCount } from '../../values/format.ts'
import type { ProjectId } from '../../values/project.ts'
import type { EpochMs, Ms } from '../../values/time.ts'
import type {
  BatchData,
  BatchReview,
  ReviewedRow,
  SelectionData,
  WritebackData,
  WritebacksData,
} from '../core/writeback-data.ts'
import type { ConsoleProject } from './console-project.ts'

export type WritebackReads = ReturnType<typeof createWritebackReads>

/** The database of a project. */
type Open = (projectId: ProjectId) => Promise<Warehouse>

const batchesPerPage = 20
const rowsPerPage = 50
/** Of each outcome: nobody looks through more, and they are kept in memory for a while. */
const reviewedRows = 1000
/** A review of some thousand rows takes longer than a page may. */
const reviewHoldsMs: Ms = 20_000
const reviewWaitsMs: Ms = 1500

/** `openLong`: for what takes longer than a page may. */
export function createWritebackReads(open: Open, openLong: Open, now: () => EpochMs) {
  const inTurn = createTurns()
  const reviews = rememberResults({
    maxAgeMs: reviewHoldsMs,
    now,
    read: ({ project, batch }: ReviewRequest, signal) =>
      inTurn(async () => readReview(await openLong(project.projectId), project, batch, signal)),
  })
  const outcomes = rememberResults({
    maxAgeMs: reviewHoldsMs,
    now,
    maxKeys: 4,
    read: ({ project, batch }: ReviewRequest, signal) =>
      inTurn(async () => groupByOutcome(await openLong(project.projectId), project, batch, signal)),
  })
  // Only those who ask at the same time share it: a decision is about rows as they are.
  const selections = rememberResults({
    maxAgeMs: 0,
    now,
    maxKeys: 4,
    read: ({ project, filter, limit }: SelectionRequest): Promise<SelectionData> =>
      reads.selection(project, filter, limit),
  })
  const reads = {
    list: async (project: ConsoleProject, request: ListRequest): Promise<WritebacksData> =>
      listWritebacks(await open(project.projectId), project, request),
    /** Null: there is no such batch. */
    batch: async (
      project: ConsoleProject,
      name: string,
      request: BatchRequest,
      signal?: AbortSignal,
    ): Promise<BatchData | null> => {
      const warehouse = await open(project.projectId)
      const admin = warehouse.outbox(project.projectId)
      if ((await admin.findBatch(name)) === null) return null
      const report = await readBatch(admin, warehouse, toBatchProject(project), name)
      const { id, counts } = report.batch
      const isWaiting = (counts.draft ?? 0) + (counts.queued ?? 0) > 0
      // With other drafts or counts it is another review.
      const key = `${project.projectId} ${id} ${report.approval?.digest ?? ''} ${JSON.stringify(counts)}`
      const review = isWaiting ? await reviews.soon(key, { project, batch: id }, reviewWaitsMs, signal) : null
      const [queued] = isWaiting ? await admin.list({ batch: id, statuses: ['queued'] }, 1) : []
      const { status, after } = request
      const shown =
        status === null
          ? { entries: [], ...(await pageOfReview(warehouse, project, review, request)) }
          : { reviewed: [], ...(await listRows(warehouse, project, { batch: id, statuses: [status] }, after)) }
      return { report, undoUntil: await findOpenGrace(warehouse, queued), review, ...shown }
    },
    /** Null: there is no such write-back. */
    writeback: async (project: ConsoleProject, id: string): Promise<WritebackData | null> => {
      const warehouse = await open(project.projectId)
      const shown = await warehouse.outboxSnapshot(project.projectId, async (outbox) => {
        const { entries, named } = await outbox.readSelection({ ids: [id] }, 1)
        return entries.length === 0 ? null : { named, report: await readWriteback(outbox, project, id) }
      })
      if (shown === null) return null
      const { conversationId } = shown.report.writeback
      const conversation =
        conversationId === null ? null : await warehouse.console(project.projectId).conversation(conversationId, null)
      return { undoUntil: await findOpenGrace(warehouse, shown.report.writeback), ...shown, conversation }
    },
    /** What a decision is about, and the digest that names it. */
    selection: async (project: ConsoleProject, filter: OutboxFilter, limit: number): Promise<SelectionData> => {
      const warehouse = await open(project.projectId)
      return warehouse.outboxSnapshot(project.projectId, async (outbox) => {
        const { entries, named } = await outbox.readSelection(filter, limit)
        return {
          named,
          entries: await outbox.nameEntries(entries),
          operations: await outbox.countByOperation(filter),
          batch: filter.batch === undefined ? null : await outbox.findBatch(filter.batch),
        }
      })
    },
    /** The same for a page. `named`: as its address names it. */
    shownSelection: (named: string, request: SelectionRequest, signal: AbortSignal): Promise<SelectionData> =>
      selections.get(`${request.project.projectId} ${named}`, request, signal),
    /** How long so many rows take once nothing is before them. */
    estimateMs: async (project: ConsoleProject, operations: SelectionData['operations']): Promise<Ms> => {
      const counts = Object.fromEntries(operations.map(({ operation, count }) => [operation, count]))
      return estimateBatchMs(await readSlotLimits(await open(project.projectId), toBatchProject(project)), counts, 0)
    },
    /** The ids of the rows of a batch that would do this, in the order of the queue. `signal`: the client has left. */
    idsByOutcome: async (
      project: ConsoleProject,
      batch: string,
      outcome: ReviewOutcome,
      signal?: AbortSignal,
    ): Promise<readonly string[]> =>
      (await outcomes.get(`${project.projectId} ${batch}`, { project, batch }, signal)).get(outcome) ?? [],
    /** Of the newest batches that are under way, for live numbers. */
    progress: async (project: ConsoleProject) => {
      const warehouse = await open(project.projectId)
      const admin = warehouse.outbox(project.projectId)
      const moving = (await admin.listBatches(batchesPerPage)).filter(({ state }) => state !== 'done')
      const read = moving.slice(0, watchedBatches).map(async (batch) => ({
        batch,
        estimate: await estimateBatch(admin, warehouse, toBatchProject(project), batch),
      }))
      return Promise.all(read)
    },
  }
  return reads
}

const watchedBatches = 5

type ListRequest = {
  readonly status: WritebackStatus | null
  readonly after: string | null
  readonly before: string | null
}
type BatchRequest = {
  readonly status: WritebackStatus | null
  readonly would: ReviewOutcome | null
  readonly after: string | null
}
type SelectionRequest = {
  readonly project: ConsoleProject
  readonly filter: OutboxFilter
  readonly limit: number
}
type ReviewRequest = { readonly project: ConsoleProject; readonly batch: string }

function toBatchProject({ name, projectId, rates }: ConsoleProject): BatchProject {
  const { rate, writeRate, reserve, rateMargin } = rates
  return { name, projectId, rate, writeRate, reserve, rateMargin }
}

async function listWritebacks(
  warehouse: Warehouse,
  project: ConsoleProject,
  { status, after, before }: ListRequest,
): Promise<WritebacksData> {
  const admin = warehouse.outbox(project.projectId)
  const counts = await admin.countByStatus({})
  if (status !== null) {
    const shown = await listRows(warehouse, project, { statuses: [status] }, after)
    return { counts, status, batches: [], olderBatches: null, rows: shown.entries, next: shown.next }
  }
  // Not by `requireBatch`, which compares a wrong name with all others; an address has whole ones.
  const from = before === null ? undefined : ((await admin.findBatch(before)) ?? undefined)
  const found = await admin.listBatches(batchesPerPage + 1, from)
  const batches = found.slice(0, batchesPerPage)
  const olderBatches = found.length > batches.length ? (batches.at(-1)?.id ?? null) : null
  return { counts, status, batches, olderBatches, rows: [], next: null }
}

/** In the order of the queue. `after`: the `next` of the page before. */
async function listRows(
  warehouse: Warehouse,
  { projectId }: ConsoleProject,
  filter: OutboxFilter,
  after: string | null,
) {
  const admin = warehouse.outbox(projectId)
  const seq = after !== null && /^\d{1,15}$/.test(after) ? Number(after) : 0
  const entries = await admin.list(filter, rowsPerPage, seq)
  return {
    entries: await admin.nameEntries(entries),
    next: entries.length < rowsPerPage ? null : String(entries.at(-1)?.seq ?? ''),
  }
}

/** The rows with what they would send, which the review itself does not keep. */
async function pageOfReview(
  warehouse: Warehouse,
  { projectId }: ConsoleProject,
  review: BatchReview | null,
  { would, after }: BatchRequest,
): Promise<Pick<BatchData, 'reviewed' | 'next'>> {
  const from = Number(after ?? 0)
  const rows = (review?.rows ?? []).filter((row) => row.position > from && (would === null || row.outcome === would))
  const page = rows.slice(0, rowsPerPage)
  const ids = page.map(({ id }) => id)
  const entries = ids.length === 0 ? [] : await warehouse.outbox(projectId).list({ ids }, ids.length)
  const payloads = new Map(entries.map(({ id, payload }) => [id, payload]))
  return {
    reviewed: page.map((row) => ({ ...row, payload: payloads.get(row.id) ?? {} })),
    next: rows.length > page.length ? String(page.at(-1)?.position ?? '') : null,
  }
}

async function readReview(
  warehouse: Warehouse,
  project: ConsoleProject,
  batch: string,
  signal: AbortSignal,
): Promise<BatchReview> {
  const kept = new Map<ReviewOutcome, number>()
  const rows: ReviewedRow[] = []
  const onReviews = async (reviews: readonly CheckedReview[]) => {
    for (const row of reviews) {
      const count = kept.get(row.outcome) ?? 0
      kept.set(row.outcome, count + 1)
      if (count < reviewedRows) rows.push(toReviewedRow(row))
    }
  }
  const { counts, groups, checks } = await review(warehouse, project, batch, onReviews, signal)
  const named = groups.map((group) => ({ outcome: group.outcome, text: describeGroup(group, formatCount) }))
  return { counts, groups: named, checked: checks.rows, differing: checks.differing, rows }
}

async function groupByOutcome(
  warehouse: Warehouse,
  project: ConsoleProject,
  batch: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<ReviewOutcome, readonly string[]>> {
  const ids = new Map<ReviewOutcome, string[]>()
  const onReviews = async (rows: readonly CheckedReview[]) => {
    for (const { id, outcome } of rows) {
      if (id === null) continue
      const known = ids.get(outcome)
      if (known === undefined) ids.set(outcome, [id])
      else known.push(id)
    }
  }
  await review(warehouse, project, batch, onReviews, signal)
  return ids
}

function toReviewedRow(row: CheckedReview): ReviewedRow {
  const { position, id, action, outcome, visitorName, lastWords, check } = row
  return {
    ...{ position, id: id ?? '', action, outcome, visitorName },
    lastWords: lastWords?.text ?? null,
    effect: `${row.why ?? row.changes.map(describeChange).join(', ')}${describeOrder(row)}`,
    differs: check?.differs === true ? describeDifference(row) : null,
  }
}

async function review(
  warehouse: Warehouse,
  { projectId }: ConsoleProject,
  batch: string,
  onReviews: (reviews: readonly CheckedReview[]) => Promise<void>,
  signal: AbortSignal,
) {
  const reader = warehouse.outbox(projectId)
  const clock = await warehouse.readClock()
  const listBatch: typeof reader.listBatch = async (...page) => {
    signal.throwIfAborted()
    return reader.listBatch(...page)
  }
  return reviewSource(batchSource({ ...reader, listBatch }, batch), { reader, now: clock() }, onReviews)
}
