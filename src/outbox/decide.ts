/** Executes a person's decision: resolves the selection, applies it, and explains why other rows did not change. */

import { nearestNames } from '../values/nearest-names.ts'
import { UserError } from '../values/user-error.ts'
import type { BatchSummary, SelectionMismatch } from './core/batches.ts'
import type { DecisionResult, DecisionTerms, OutboxDecision, OutboxFilter, ShownSelection } from './core/decisions.ts'
import type { DecisionReport } from './core/reports.ts'
import { nextState, type StatusCounts, toStoredState, type WritebackStatus, writebackStatuses } from './core/state.ts'
import type { Outbox } from './sql/outbox.ts'

/** Parts of ids and of the batch's name become whole ones. */
async function resolveSelection(admin: Outbox, selection: OutboxFilter): Promise<OutboxFilter> {
  const { ids, batch } = selection
  return {
    ...selection,
    ...(ids === undefined ? {} : { ids: await resolveIds(admin, ids) }),
    ...(batch === undefined ? {} : { batch: (await requireBatch(admin, batch)).id }),
  }
}

const stepsShown = 20

/** A decision returns the first thousand ids. */
const idsReturned = 1000

type ShownTerms = DecisionTerms & { readonly shown?: ShownSelection }

/**
 * `ids` may be beginnings or ends of ids. Throws UserError, before any change, if one matches no id or several, or if
 * there is no such batch. Of what was `shown`, nothing is changed if that has moved since; an approval by a digest is
 * about drafts alone.
 */
export function executeDecision(
  admin: Outbox,
  decision: OutboxDecision,
  selection: OutboxFilter,
  terms: DecisionTerms,
): Promise<Omit<DecisionReport, 'project'>>
export function executeDecision(
  admin: Outbox,
  decision: OutboxDecision,
  selection: OutboxFilter,
  terms: ShownTerms,
): Promise<Omit<DecisionReport, 'project'> | Omit<SelectionMismatch, 'project'>>
export async function executeDecision(
  admin: Outbox,
  decision: OutboxDecision,
  selection: OutboxFilter,
  { shown, ...terms }: ShownTerms,
): Promise<Omit<DecisionReport, 'project'> | Omit<SelectionMismatch, 'project'>> {
  const statuses = shown !== undefined && decision === 'approved' ? { statuses: approvable } : {}
  const resolve = async (given: OutboxFilter) => ({ ...(await resolveSelection(admin, given)), ...statuses })
  const filter = await resolve(selection)
  const before = await admin.countByStatus(restrictStatuses(filter, resultingStatuses(decision)))
  if (shown === undefined) {
    const result = await admin.decide(decision, filter, terms)
    return explainDecision(admin, filter, { decision, ...terms }, before, result)
  }
  const named = shown.filter === selection ? filter : await resolve(shown.filter)
  const result = await admin.decideShown(decision, filter, { ...shown, filter: named }, terms)
  if ('moved' in result) return describeMismatch(admin, named, result.moved)
  return explainDecision(admin, filter, { decision, ...terms }, before, result)
}

/** What a digest for an approval names. */
export const approvable = ['draft'] as const satisfies readonly WritebackStatus[]

/** `before`: rows with the statuses that the decision leads to, as they were. */
async function explainDecision(
  admin: Outbox,
  filter: OutboxFilter,
  made: DecisionMade,
  before: StatusCounts,
  { count, ids, following }: DecisionResult,
): Promise<Omit<DecisionReport, 'project'>> {
  const { decision } = made
  const after = () => admin.countByStatus(restrictStatuses(filter, unaffectedStatuses(decision)))
  const stayed =
    filter.ids === undefined || filter.ids.length > idsReturned
      ? [...stayedByStatus({ ...(await after()), ...before }, decision), ...(await refusedRows(admin, filter, made))]
      : await stayedById(admin, filter.ids, new Set(ids), made)
  const [first] = decision === 'approved' && count > 0 ? await admin.list({ ids: ids.slice(0, 1) }, 1) : []
  const undoUntil = first?.undoUntil ?? null
  return {
    moved: count,
    ids,
    stayed,
    ...(following === undefined ? {} : { following }),
    ...(undoUntil === null ? {} : { undoUntil }),
  }
}

/** Why nothing was decided. */
export async function describeMismatch(
  admin: Outbox,
  filter: OutboxFilter,
  now: SelectionMismatch['now'],
): Promise<Omit<SelectionMismatch, 'project'>> {
  const { statuses: _, ...withoutStatuses } = filter
  return {
    outcome: 'moved',
    now,
    counts: await admin.countByStatus(withoutStatuses),
    steps: await admin.listLatestEvents(withoutStatuses, stepsShown),
  }
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

type DecisionMade = DecisionTerms & { readonly decision: OutboxDecision }

/**
 * `counts`: rows by status. Statuses that the decision leads to are counted before it, so that rows which have just
 * changed are not counted as unchanged; all others are counted after it.
 */
function stayedByStatus(counts: StatusCounts, decision: OutboxDecision): DecisionReport['stayed'] {
  // Taking approvals back is about what is queued; what has left earlier is not worth a line.
  if (decision === 'approval_undone') return []
  return writebackStatuses.flatMap((status) => {
    const count = counts[status] ?? 0
    return count === 0 || statusAfter(status, decision) !== null
      ? []
      : [{ id: null, status, count, why: whyStayed(status, decision) }]
  })
}

/** Rows whose status allows the decision, and something else does not: their batch is stopped, or one's own approval. */
async function refusedRows(admin: Outbox, filter: OutboxFilter, made: DecisionMade): Promise<DecisionReport['stayed']> {
  if (made.decision !== 'approved' && made.decision !== 'approval_undone') return []
  const statuses = writebackStatuses.filter((status) => statusAfter(status, made.decision) !== null)
  const allowed = restrictStatuses(filter, statuses)
  const count = Object.values(await admin.countByStatus(allowed)).reduce((sum, rows) => sum + rows, 0)
  const [entry] = count === 0 ? [] : await admin.list(allowed, 1)
  if (entry === undefined) return []
  return [{ id: null, status: entry.status, count, why: whyRefused(entry, made) }]
}

async function stayedById(
  admin: Outbox,
  ids: readonly string[],
  moved: ReadonlySet<string>,
  made: DecisionMade,
): Promise<DecisionReport['stayed']> {
  const left = ids.filter((id) => !moved.has(id))
  const entries = left.length === 0 ? [] : await admin.list({ ids: left }, left.length)
  return entries.map((entry) => {
    const isAllowed = statusAfter(entry.status, made.decision) !== null
    const why = isAllowed ? whyRefused(entry, made) : whyStayed(entry.status, made.decision)
    return { id: entry.id, status: entry.status, count: 1, why }
  })
}

type Refused = { readonly stoppedBy: string | null; readonly undoUntil: string | null; readonly batchId: string | null }

/** Why a decision that the status allows was not made. */
function whyRefused({ stoppedBy, undoUntil, batchId }: Refused, { decision, approveOwn }: DecisionMade): string {
  if (decision === 'approval_undone')
    return undoUntil === null
      ? 'it has no approval that can be taken back; `writeback stop --batch` puts what has not left back to draft'
      : `the grace of its approval ended at ${undoUntil}; \`writeback stop --batch\` puts what has not left back to draft`
  if (stoppedBy !== null) return `its batch was stopped by ${stoppedBy}: \`writeback resume --batch ${batchId ?? ''}\``
  if (approveOwn === false) return 'you queued it, so someone else has to approve it (approve_own: off)'
  return 'its batch is stopped: resume it first with `writeback resume`'
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

/** Names further back are not suggested. */
const namesConsidered = 10_000
const maxSuggestions = 3

/** `name`: a batch's name or a unique beginning of it. Throws UserError if there is none, or several. */
export async function requireBatch(admin: Outbox, name: string, what = 'nothing was changed'): Promise<BatchSummary> {
  const batch = await admin.findBatch(name)
  if (batch !== null) return batch
  const names = await admin.listBatchNames(namesConsidered)
  const [only, ...others] = name === '' ? [] : names.filter((known) => known.startsWith(name))
  const found = only === undefined || others.length > 0 ? null : await admin.findBatch(only)
  if (found !== null) return found
  const near = only === undefined ? nearBatches(name, names) : [only, ...others].slice(0, maxSuggestions)
  const why = others.length > 0 ? `several batches begin with ${name}` : `there is no write-back of a batch ${name}`
  const next = near.length > 0 ? `write ${near.join(' or ')}` : '`deskmirror writeback batches` lists them'
  throw new UserError({ what, why, next, exitCode: 2 })
}

/** Nobody types the digest at the end of a name, so names are also compared without it. The newest of each come first. */
function nearBatches(typed: string, names: readonly string[]): readonly string[] {
  const plain = new Set(nearestNames(withoutDigest(typed), [...new Set(names.map(withoutDigest))]))
  const near = [...nearestNames(typed, names), ...names.filter((name) => plain.has(withoutDigest(name)))]
  return [...new Set(near)].slice(0, maxSuggestions)
}

/** `replies-0123456789ab-revert` → `replies-revert` */
function withoutDigest(name: string): string {
  return name.replace(/-[0-9a-f]{12}(?=-revert|$)/, '')
}

/**
 * `parts`: ids, or unique beginnings or ends of them. Throws UserError if one matches no id or several.
 */
export async function resolveIds(
  admin: Pick<Outbox, 'findIds' | 'list'>,
  parts: readonly string[],
): Promise<readonly string[]> {
  const found: string[] = []
  const whole = await findWholeIds(admin, parts)
  for (const part of parts) {
    const [id, ...others] = whole.has(part) ? [part] : await admin.findIds(part)
    if (id === undefined) throw unchanged(`there is no write-back with the id ${part}`, '`writeback list` shows them')
    if (others.length > 0) throw unchanged(describeSeveral(part, [id, ...others]), 'write more of the id')
    found.push(id)
  }
  return [...new Set(found)]
}

/** A decision about what was shown names thousands by their whole ids. */
async function findWholeIds(admin: Pick<Outbox, 'list'>, parts: readonly string[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  const size = 1000
  for (let start = 0; parts.length > 1 && start < parts.length; start += size) {
    const ids = parts.slice(start, start + size)
    for (const { id } of await admin.list({ ids }, size)) found.add(id)
  }
  return found
}

function describeSeveral(part: string, ids: readonly string[]): string {
  return `several ids begin or end with ${part}: ${ids.join(', ')}${ids.length > 2 ? ', …' : ''}`
}

function unchanged(why: string, next: string): UserError {
  return new UserError({ what: 'nothing was changed', why, next, exitCode: 2 })
}
