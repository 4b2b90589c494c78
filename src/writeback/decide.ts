/** What people decide about write-backs that are queued: which are meant, what moves, and why the rest stays. */

import type { Filter, QueueDesk } from '../core/outbox/desk.ts'
import type { MoveReport } from '../core/outbox/report.ts'
import { type Decision, next, type Status, type StatusCounts, statuses, toStored } from '../core/outbox/state.ts'
import { UserError } from '../core/user-error.ts'

/** `ids` may be beginnings of ids. Nothing moves where one means nothing, or several: then it throws UserError. */
export async function decide(
  desk: QueueDesk,
  decision: Decision,
  meant: Filter,
  by: string,
): Promise<Omit<MoveReport, 'project'>> {
  const filter = meant.ids === undefined ? meant : { ...meant, ids: await meantIds(desk, meant.ids) }
  if (meant.batch !== undefined && (await desk.list({ batch: meant.batch }, 1)).length === 0)
    throw noSuch(`of the batch ${meant.batch}`)
  const before = await desk.summary(only(filter, reachedBy(decision)))
  const moved = await desk.decide(decision, filter, by)
  const stayed =
    filter.ids === undefined
      ? staying({ ...(await desk.summary(only(filter, stayingUnder(decision)))), ...before }, decision)
      : await stayingOf(desk, filter.ids, new Set(moved.ids), decision)
  const { count, ids, following } = moved
  return { moved: count, ids, stayed, ...(following === undefined ? {} : { following }) }
}

export async function meantIds(desk: QueueDesk, beginnings: readonly string[]): Promise<readonly string[]> {
  const found: string[] = []
  for (const beginning of beginnings) {
    const [id, ...others] = await desk.named(beginning)
    if (id === undefined) throw noSuch(`with the id ${beginning}`)
    if (others.length > 0) throw ambiguous(beginning, [id, ...others])
    found.push(id)
  }
  return [...new Set(found)]
}

/** What it becomes; null: it keeps its status. */
function becomes(status: Status, decision: Decision): Status | null {
  const to = next(status, decision)
  return to === null || toStored(to).status === status ? null : toStored(to).status
}

function reachedBy(decision: Decision): readonly Status[] {
  return [...new Set(statuses.flatMap((status) => becomes(status, decision) ?? []))]
}

function stayingUnder(decision: Decision): readonly Status[] {
  const reached = reachedBy(decision)
  return statuses.filter((status) => becomes(status, decision) === null && !reached.includes(status))
}

function only(filter: Filter, some: readonly Status[]): Filter {
  const { statuses: meant } = filter
  return { ...filter, statuses: meant === undefined ? some : some.filter((status) => meant.includes(status)) }
}

/**
 * What was sent while this was decided counts as it is after; but what moved is not to be counted where it moved to, so of
 * those there are as many as before.
 */
function staying(counts: StatusCounts, decision: Decision): MoveReport['stayed'] {
  return statuses.flatMap((status) => {
    const count = counts[status] ?? 0
    return count === 0 || becomes(status, decision) !== null
      ? []
      : [{ id: null, status, count, why: whyStays(status, decision) }]
  })
}

async function stayingOf(
  desk: QueueDesk,
  ids: readonly string[],
  moved: ReadonlySet<string>,
  decision: Decision,
): Promise<MoveReport['stayed']> {
  const left = ids.filter((id) => !moved.has(id))
  const entries = left.length === 0 ? [] : await desk.list({ ids: left }, left.length)
  return entries.map(({ id, status }) => ({ id, status, count: 1, why: whyStays(status, decision) }))
}

/** Why it cannot move from where it is, and what can be done instead. */
function whyStays(status: Status, decision: Decision): string {
  if (status === 'sending' && decision === 'cancelled')
    return 'what has not arrived becomes cancelled, and nothing of it is sent again'
  if (status === 'sending') return 'it may have left already; what became of it is found out by itself'
  if (status === 'uncertain') return 'say first what became of it, by `writeback resolve`'
  if (decision === 'arrived' || decision === 'lost') return 'its fate is no question'
  if (status === 'succeeded') return 'it has arrived, and cannot be taken back'
  if (status === 'draft') return 'it waits for approval, by `writeback approve`'
  if (status === 'queued') return 'it is queued already'
  if (decision === 'cancelled') return 'it is not going to be sent'
  return '`writeback retry` sends it again'
}

function noSuch(what: string): UserError {
  const why = `there is no write-back ${what}`
  return new UserError({
    what: 'nothing was changed',
    why,
    next: '`writeback list` shows them',
    exitCode: 2,
  })
}

function ambiguous(beginning: string, ids: readonly string[]): UserError {
  const why = `several ids begin with ${beginning}: ${ids.join(', ')}${ids.length > 2 ? ', …' : ''}`
  return new UserError({ what: 'nothing was changed', why, next: 'write more of the id', exitCode: 2 })
}
