/** Executes a person's decision: resolves the selection, applies it, and explains why other rows did not change. */
import type { OutboxAdmin, OutboxFilter } from '../core/outbox/admin.ts'
import type { DecisionReport } from '../core/outbox/reports.ts'
import {
  nextState,
  type OutboxDecision,
  type StatusCounts,
  toStoredState,
  type WritebackStatus,
  writebackStatuses,
} from '../core/outbox/state.ts'
import { UserError } from '../core/user-error.ts'

/** `ids` may be prefixes. Throws UserError, before any change, if a prefix matches no id or several. */
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
  const after = () => admin.countByStatus(restrictStatuses(filter, unaffectedStatuses(decision)))
  const stayed =
    filter.ids === undefined
      ? stayedByStatus({ ...(await after()), ...before }, decision)
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

/** The new status; null if the decision does not change it. */
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
  const { statuses: requested = allowed } = filter
  return { ...filter, statuses: allowed.filter((status) => requested.includes(status)) }
}

/**
 * `counts`: rows by status. Statuses that the decision leads to are counted before it, so that rows which have just
 * changed are not counted as unchanged; all others are counted after it.
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

/** Why the decision does not apply in this status, and what to do instead. */
function whyStayed(status: WritebackStatus, decision: OutboxDecision): string {
  if (status === 'sending' && decision === 'cancelled')
    return 'if it did not arrive it becomes cancelled, and it is not sent again'
  if (status === 'sending') return 'it may have been sent already; its outcome is found automatically'
  if (status === 'uncertain') return 'resolve it first with `writeback resolve`'
  if (decision === 'arrived' || decision === 'lost') return 'its outcome is known'
  if (status === 'succeeded') return 'it has arrived and cannot be undone'
  if (status === 'draft') return 'it waits for approval with `writeback approve`'
  if (status === 'queued') return 'it is queued already'
  if (decision === 'cancelled') return 'it will not be sent'
  return '`writeback retry` sends it again'
}

function notFoundError(what: string): UserError {
  const why = `there is no write-back ${what}`
  return new UserError({ what: 'nothing was changed', why, next: '`writeback list` shows them', exitCode: 2 })
}

function ambiguousIdError(prefix: string, ids: readonly string[]): UserError {
  const why = `several ids begin with ${prefix}: ${ids.join(', ')}${ids.length > 2 ? ', …' : ''}`
  return new UserError({ what: 'nothing was changed', why, next: 'write more of the id', exitCode: 2 })
}
