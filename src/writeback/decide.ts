/** What people decide about write-backs that are queued: which are meant, what moves, and why the rest stays. */

import type { OutboxFilter, OutboxAdmin } from '../core/outbox/admin.ts'
import type { DecisionReport } from '../core/outbox/reports.ts'
import { type OutboxDecision, nextState, type WritebackStatus, type StatusCounts, writebackStatuses, toStoredState } from '../core/outbox/state.ts'
import { UserError } from '../core/user-error.ts'

/** `ids` may be beginnings of ids. Nothing moves where one means nothing, or several: then it throws UserError. */
export async function executeDecision(
  admin: OutboxAdmin,
  decision: OutboxDecision,
  selection: OutboxFilter,
  by: string,
): Promise<Omit<DecisionReport, 'project'>> {
  const filter = selection.ids === undefined ? selection : { ...selection, ids: await resolveIds(admin, selection.ids) }
  if (selection.batch !== undefined && (await admin.list({ batch: selection.batch }, 1)).length === 0)
    throw notFoundError(`of the batch ${selection.batch}`)
  const before = await admin.countByStatus(restrictStatuses(filter, resultingStatuses(decision)))
  const moved = await admin.decide(decision, filter, by)
  const stayed =
    filter.ids === undefined
      ? stayedByStatus({ ...(await admin.countByStatus(restrictStatuses(filter, unaffectedStatuses(decision)))), ...before }, decision)
      : await stayedById(admin, filter.ids, new Set(moved.ids), decision)
  const { count, ids, following } = moved
  return { moved: count, ids, stayed, ...(following === undefined ? {} : { following }) }
}

export async function resolveIds(admin: OutboxAdmin, prefixes: readonly string[]): Promise<readonly string[]> {
  const found: string[] = []
  for (const prefix of prefixes) {
    const [id, ...others] = await admin.findIdsByPrefix(prefix)
    if (id === undefined) throw notFoundError(`with the id ${prefix}`)
    if (others.length > 0) throw ambiguousIdError(prefix, [id, ...others])
    found.push(id)
  }
  return [...new Set(found)]
}

/** What it becomes; null: it keeps its status. */
function statusAfter(status: WritebackStatus, decision: OutboxDecision): WritebackStatus | null {
  const to = nextState(status, decision)
  return to === null || toStoredState(to).status === status ? null : toStoredState(to).status
}

function resultingStatuses(decision: OutboxDecision): readonly WritebackStatus[] {
  return [...new Set(writebackStatuses.flatMap((status) => statusAfter(status, decision) ?? []))]
}

function unaffectedStatuses(decision: OutboxDecision): readonly WritebackStatus[] {
  const reached = resultingStatuses(decision)
  return writebackStatuses.filter((status) => statusAfter(status, decision) === null && !reached.includes(status))
}

function restrictStatuses(filter: OutboxFilter, allowed: readonly WritebackStatus[]): OutboxFilter {
  const { statuses: requested } = filter
  return { ...filter, statuses: requested === undefined ? allowed : allowed.filter((status) => requested.includes(status)) }
}

/**
 * What was sent while this was decided counts as it is after; but what moved is not to be counted where it moved to, so of
 * those there are as many as before.
 */
function stayedByStatus(counts: StatusCounts, decision: OutboxDecision): DecisionReport['stayed'] {
  return writebackStatuses.flatMap((status) => {
    const count = counts[status] ?? 0
    return count === 0 || statusAfter(status, decision) !== null
      ? []
      : [{ id: null, status, count, why: whyStayed(status, decision) }]
  })
}

async function stayedById(
  admin: OutboxAdmin,
  ids: readonly string[],
  moved: ReadonlySet<string>,
  decision: OutboxDecision,
): Promise<DecisionReport['stayed']> {
  const left = ids.filter((id) => !moved.has(id))
  const entries = left.length === 0 ? [] : await admin.list({ ids: left }, left.length)
  return entries.map(({ id, status }) => ({ id, status, count: 1, why: whyStayed(status, decision) }))
}

/** Why it cannot move from where it is, and what can be done instead. */
function whyStayed(status: WritebackStatus, decision: OutboxDecision): string {
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

function notFoundError(what: string): UserError {
  const why = `there is no write-back ${what}`
  return new UserError({
    what: 'nothing was changed',
    why,
    next: '`writeback list` shows them',
    exitCode: 2,
  })
}

function ambiguousIdError(prefix: string, ids: readonly string[]): UserError {
  const why = `several ids begin with ${prefix}: ${ids.join(', ')}${ids.length > 2 ? ', …' : ''}`
  return new UserError({ what: 'nothing was changed', why, next: 'write more of the id', exitCode: 2 })
}
