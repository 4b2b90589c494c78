/** The use cases of the outbox: add, list, show and decide, each with a warehouse opened for it. */

import type { Config, ProjectConfig } from '../config/config.ts'
import { fillReply as fillReplyOf, withFilledReply } from '../imports/fill-reply.ts'
import { readReplyValues } from '../imports/sql/reply-values.ts'
import { listLiveWorkers } from '../maintenance/sql/workers.ts'
import { estimateSends, needsApproval } from '../outbox/core/batches.ts'
import { describeTextChanges, findMarks, senderOf } from '../outbox/core/review/marks.ts'
import { executeDecision, requireBatch } from '../outbox/decide.ts'
import type {
  DecisionReport,
  DecisionTerms,
  NamedEntry,
  Outbox,
  OutboxDecision,
  OutboxEntry,
  OutboxFilter,
  Pace,
  SelectionMismatch,
  SendEstimate,
  ShowWritebackReport,
  StatusCounts,
  WritebackRequest,
} from '../outbox/outbox.ts'
import { readWriteback } from '../outbox/read-reports.ts'
import { createOutbox } from '../outbox/sql/outbox.ts'
import { readSendingStop } from '../outbox/sql/sending.ts'
import { steadyLimits } from '../service/core/budget.ts'
import type { BudgetPolicy } from '../service/core/budget-policy.ts'
import { readOpenPause } from '../service/sql/request-counts.ts'
import type { ProjectName } from '../values/project.ts'
import type { Ms } from '../values/time.ts'
import { UserError } from '../values/user-error.ts'
import { readClock } from '../warehouse/dialect.ts'
import { isWarehouseUnavailable } from '../warehouse/explain-error.ts'
import { type Warehouse, withWarehouse } from './open.ts'

export type AddWritebackReport = SendEstimate & {
  readonly project: ProjectName
  /** Null if its ref was queued before; then nothing was queued. */
  readonly id: string | null
  /** `draft` needs approval, as does a text that another program has probably changed. */
  readonly status: 'queued' | 'draft'
  /** What a person should look at before it is sent, in sentences. */
  readonly marks: readonly string[]
}

/** `createdBy`: the person's name. */
export function addWriteback(
  config: Config,
  project: ProjectConfig,
  request: WritebackRequest,
  { createdBy }: { readonly createdBy: string },
): Promise<AddWritebackReport> {
  return withOutbox(config, project, async (outbox, warehouse) => {
    const isHeld = needsApproval(1, project) || describeTextChanges(request).length > 0
    const status = isHeld ? 'draft' : 'queued'
    const sender = senderOf(request)
    const isNewSender = sender !== null && !(await outbox.findKnownSenders([sender])).has(sender)
    const marks = findMarks(request, isNewSender)
    const queuedEarlier = await countUnsettled(outbox)
    const options = { status, batchId: null, createdBy, expiresAt: null } as const
    const result = await outbox.enqueue([[request]], options).catch(throwUnknownResult)
    const id = 'ids' in result ? (result.ids[0] ?? null) : null
    const estimate = estimateSends(
      await readPace(warehouse, project),
      queuedEarlier,
      id === null ? 0 : 1,
    )
    return { project: project.name, id, status, marks, ...estimate }
  })
}

/** The line with the words of the text that its `template` names, or why there are none. */
export function fillReply(
  config: Config,
  project: ProjectConfig,
  line: Readonly<Record<string, unknown>>,
) {
  return withOutbox(config, project, async (_, { projectDb }) => {
    const context = projectDb(project.projectId)
    const id = String(line['conversation_id'] ?? '').toLowerCase()
    const values = await readReplyValues(context, [id], project.timeZone)
    return withFilledReply(line, (wanted) =>
      fillReplyOf(project.replies, wanted, values.get(id) ?? null),
    )
  })
}

export type ListWritebacksReport = {
  readonly project: ProjectName
  readonly writebacks: readonly NamedEntry[]
  /** All matching write-backs, by status. */
  readonly counts: StatusCounts
  /** Rows in the warehouse without a project, which are never sent. */
  readonly withoutProject: number
}

export function listWritebacks(
  config: Config,
  project: ProjectConfig,
  filter: OutboxFilter,
  { limit, newest }: { readonly limit: number; readonly newest: boolean },
): Promise<ListWritebacksReport> {
  return withOutbox(config, project, async (outbox) => {
    const named = await nameBatch(outbox, filter)
    const entries = await (newest ? outbox.listNewest(named, limit) : outbox.list(named, limit))
    return {
      project: project.name,
      writebacks: await outbox.nameEntries(entries),
      counts: await outbox.countByStatus(named),
      withoutProject: await outbox.countWithoutProject(),
    }
  })
}

/** A batch may be named by a unique beginning of its name. */
async function nameBatch(
  outbox: Outbox,
  { batch, ...filter }: OutboxFilter,
): Promise<OutboxFilter> {
  return batch === undefined
    ? filter
    : { ...filter, batch: (await requireBatch(outbox, batch, 'nothing was listed')).id }
}

const pageSize = 500

/** Passes all matching write-backs to `onEntries` in queue order, a page at a time. */
export function forEachWriteback(
  config: Config,
  project: ProjectConfig,
  filter: OutboxFilter,
  onEntries: (entries: readonly NamedEntry[]) => void,
): Promise<void> {
  return withOutbox(config, project, async (outbox) => {
    const named = await nameBatch(outbox, filter)
    let entries: readonly OutboxEntry[] = []
    do {
      entries = await outbox.list(named, pageSize, entries.at(-1)?.seq)
      onEntries(await outbox.nameEntries(entries))
    } while (entries.length === pageSize)
  })
}

/** `id` may be a prefix. Throws UserError if it matches no write-back or several. */
export function showWriteback(
  config: Config,
  project: ProjectConfig,
  id: string,
): Promise<ShowWritebackReport> {
  return withOutbox(config, project, async (outbox) => ({
    project: project.name,
    ...(await readWriteback(outbox, id)),
  }))
}

type DecisionRequest = Pick<DecisionTerms, 'by' | 'audit' | 'shown'> & {
  readonly selection: OutboxFilter
}

/**
 * If what was `shown` has moved since, nothing is changed, and the report says what differs. `by`:
 * the person's name.
 */
export function decideWritebacks(
  config: Config,
  project: ProjectConfig,
  decision: OutboxDecision,
  { selection, ...made }: DecisionRequest,
): Promise<DecisionReport | SelectionMismatch> {
  // Cancelling everything must be fast, so it covers rows without a project instead of assigning
  // them first.
  const isAll = Object.values(selection).every((restriction) => restriction === undefined)
  const orWithoutProject = config.projects.length === 1 && decision === 'cancelled' && isAll
  return withWarehouse(config, async (warehouse) => {
    const outbox = orWithoutProject
      ? createOutbox(warehouse.projectDb(project.projectId))
      : await openOutbox(config, project, warehouse)
    const filter = orWithoutProject ? { ...selection, orWithoutProject } : selection
    const { approveGraceMs: graceMs, approveOwn } = project
    const report = await executeDecision(outbox, decision, filter, { ...made, graceMs, approveOwn })
    return { project: project.name, ...report, ...(await clockNotices(warehouse)) }
  })
}

/** Opens the warehouse, and assigns rows without a project to the only project. */
export function withOutbox<T>(
  config: Config,
  project: ProjectConfig,
  work: (outbox: Outbox, warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  return withWarehouse(config, async (warehouse) =>
    work(await openOutbox(config, project, warehouse), warehouse),
  )
}

export async function openOutbox(
  config: Config,
  { projectId }: ProjectConfig,
  warehouse: Warehouse,
): Promise<Outbox> {
  const outbox = createOutbox(warehouse.projectDb(projectId))
  if (config.projects.length === 1) await outbox.assignProject()
  return outbox
}

export async function countUnsettled(outbox: Outbox): Promise<number> {
  const { queued = 0, sending = 0 } = await outbox.countByStatus({
    statuses: ['queued', 'sending'],
  })
  return queued + sending
}

export async function readPace(
  warehouse: Warehouse,
  policy: BudgetPolicy & Pick<ProjectConfig, 'projectId'>,
): Promise<Pace> {
  const { db, kind, retry } = warehouse
  const clock = await retry.run(() => readClock(db, kind))
  const workers = await retry.run(() => listLiveWorkers(db, Date.now()))
  const now = clock()
  const pausedUntil = await retry.run(() => readOpenPause(db, policy.projectId, now))
  const stop = await retry.run(() => readSendingStop({ db, project: policy.projectId }))
  return {
    limits: steadyLimits(policy),
    worker: workers.length > 0,
    now,
    pausedUntil,
    whyStopped: stop?.why ?? null,
  }
}

/** The commit may have succeeded, so adding the write-back again could send it twice. */
function throwUnknownResult(error: unknown): never {
  if (!isWarehouseUnavailable(error)) throw error
  throw new UserError({
    what: 'the write-back may or may not have been queued',
    why: error.message,
    next: 'check with `deskmirror writeback list --newest` before you add it again',
    exitCode: 1,
  })
}

/** Longer than a slow answer of the database takes. */
const toleratedMs: Ms = 5000

/** Null: it does not. */
export async function findClockNotice({ db, kind, retry }: Warehouse): Promise<string | null> {
  const clock = await retry.run(() => readClock(db, kind))
  const offBy = Date.now() - clock()
  if (Math.abs(offBy) <= toleratedMs) return null
  const off = `${Math.round(Math.abs(offBy) / 1000)} s ${offBy > 0 ? 'ahead of' : 'behind'}`
  return `the clock of this machine is ${off} the database's, which decides when write-backs leave`
}

/** As part of the report of a decision. */
export async function clockNotices(
  warehouse: Warehouse,
): Promise<{ readonly notices?: readonly string[] }> {
  const notice = await findClockNotice(warehouse)
  return notice === null ? {} : { notices: [notice] }
}

/** Until when an approval can be undone, by the clock of the database; null: no longer. */
export async function findOpenGrace(
  { db, kind }: Warehouse,
  queued: Pick<OutboxEntry, 'undoUntil'> | undefined,
) {
  const clock = await readClock(db, kind)
  const undoUntil = queued?.undoUntil ?? null
  return undoUntil !== null && Date.parse(undoUntil) > clock() ? undoUntil : null
}
