/** The queue of write-backs with real parts: what people put in, look up and decide. */
import type { Config, ProjectConfig } from '../config.ts'
import { writesLast } from '../core/budget/outlook.ts'
import type { Filter, QueueDesk, QueueEntry } from '../core/outbox/desk.ts'
import type { AddReport, ListReport, MoveReport, Outlook, ShowReport } from '../core/outbox/report.ts'
import { type Decision, holding } from '../core/outbox/state.ts'
import type { Wish } from '../core/outbox/wish.ts'
import type { Ms } from '../core/time.ts'
import { UserError } from '../core/user-error.ts'
import { isOver } from '../imports/import.ts'
import { isAway } from '../warehouse/database/trouble.ts'
import type { Warehouse } from '../warehouse/open.ts'
import { decide, meantIds } from '../writeback/decide.ts'
import { withPatience, withWarehouse } from './opened.ts'
import type { Patience, PatienceOptions } from './patience.ts'

/** Queues one. `createdBy`: who wants it. */
export function addWriteback(
  config: Config,
  project: ProjectConfig,
  wish: Wish,
  { createdBy }: { readonly createdBy: string },
): Promise<AddReport> {
  return withQueue(config, project, async (desk, warehouse) => {
    const status = isOver(1, project.approveOver) ? 'draft' : 'queued'
    const ahead = await unsettled(desk)
    const how = { status, batchId: null, createdBy, expiresAt: null } as const
    const done = await desk.enqueue(once([wish]), how).catch(unknownWhetherQueued)
    const id = 'ids' in done ? (done.ids[0] ?? null) : null
    return { project: project.name, id, status, ...(await outlook(warehouse, project, ahead, id === null ? 0 : 1)) }
  })
}

export function listWritebacks(
  config: Config,
  project: ProjectConfig,
  filter: Filter,
  { limit, newest }: { readonly limit: number; readonly newest: boolean },
): Promise<ListReport> {
  return withQueue(config, project, async (desk, warehouse) => ({
    project: project.name,
    writebacks: await (newest ? desk.newest(filter, limit) : desk.list(filter, limit)),
    counts: await desk.summary(filter),
    nameless: await warehouse.fleet.countNameless(),
  }))
}

const page = 500

/** All that fit, in the order of the queue, some at a time. */
export function eachWriteback(
  config: Config,
  project: ProjectConfig,
  filter: Filter,
  take: (some: readonly QueueEntry[]) => void,
): Promise<void> {
  return withQueue(config, project, async (desk) => {
    let after = 0
    for (;;) {
      const some = await desk.list(filter, page, after)
      take(some)
      if (some.length < page) return
      after = some.at(-1)?.seq ?? after
    }
  })
}

/** `id` may be its beginning. Throws UserError where it means nothing, or several. */
export function showWriteback(config: Config, project: ProjectConfig, id: string): Promise<ShowReport> {
  return withQueue(config, project, async (desk) => {
    const [writeback] = await desk.list({ ids: await meantIds(desk, [id]) }, 1)
    if (writeback === undefined) throw new Error('an id that was just found is gone')
    const target = writeback.conversationId ?? writeback.visitorId ?? ''
    const lane = await desk.list({ target, statuses: holding }, 1000)
    const isOpen = holding.some((status) => status === writeback.status)
    const before = isOpen ? lane.find(({ seq }) => seq < writeback.seq) : undefined
    return {
      project: project.name,
      writeback,
      events: await desk.events(writeback.id),
      waitsFor: before === undefined ? null : { id: before.id, status: before.status },
      holds: isOpen ? lane.filter(({ seq }) => seq > writeback.seq).length : 0,
    }
  })
}

/** Approves, cancels, queues again or resolves. `by`: who says so. */
export function decideWritebacks(
  config: Config,
  project: ProjectConfig,
  decision: Decision,
  { meant, by }: { readonly meant: Filter; readonly by: string },
): Promise<MoveReport> {
  // The kill switch does not wait until rows have got their project: it takes them as they are.
  const isOnly = config.projects.length === 1
  const nameless = isOnly && decision === 'cancelled' && meant.ids === undefined && meant.batch === undefined
  return withWarehouse(config, async (warehouse) => {
    const desk = warehouse.queueDesk(project.projectId)
    if (isOnly && !nameless) await desk.adopt()
    return { project: project.name, ...(await decide(desk, decision, { ...meant, nameless }, by)) }
  })
}

/** Rows that came by plain SQL are the project's first. */
export function withQueue<T>(
  config: Config,
  project: ProjectConfig,
  work: (desk: QueueDesk, warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  return withWarehouse(config, async (warehouse) => work(await adopted(config, project, warehouse), warehouse))
}

/** The same for what takes long. */
export function withPatientQueue<T>(
  config: Config,
  project: ProjectConfig,
  options: PatienceOptions,
  work: (desk: QueueDesk, warehouse: Warehouse, patience: Patience) => Promise<T>,
): Promise<T> {
  return withPatience(config, options, async (warehouse, patience) =>
    work(await adopted(config, project, warehouse), warehouse, patience),
  )
}

async function adopted(config: Config, { projectId }: ProjectConfig, warehouse: Warehouse): Promise<QueueDesk> {
  const desk = warehouse.queueDesk(projectId)
  if (config.projects.length === 1) await desk.adopt()
  return desk
}

/** How many are to be sent. */
export async function unsettled(desk: QueueDesk): Promise<number> {
  const { queued = 0, sending = 0 } = await desk.summary({ statuses: ['queued', 'sending'] })
  return queued + sending
}

/** `ahead` were queued before, `rows` come behind them. */
export async function outlook(
  warehouse: Warehouse,
  project: ProjectConfig,
  ahead: number,
  rows: number,
): Promise<Outlook> {
  const takesMs: Ms = writesLast(project, ahead + rows)
  return { ahead, takesMs, worker: (await warehouse.fleet.workers(Date.now())).length > 0 }
}

/** Whoever adds it again would have it sent twice. */
function unknownWhetherQueued(error: unknown): never {
  if (!isAway(error)) throw error
  throw new UserError({
    what: 'it is not known whether the write-back was queued',
    why: error.message,
    next: 'look with `deskmirror writeback list --newest` before you add it again',
    exitCode: 1,
  })
}

async function* once<T>(value: T): AsyncGenerator<T> {
  yield value
}
