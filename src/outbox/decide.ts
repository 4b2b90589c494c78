/** Makes a person's decision: resolves the selection, applies it, explains what did not change. */
import { cleanKey } from '../values/invisible.ts'
import { nearestNames } from '../values/nearest-names.ts'
import { isSamePerson } from '../values/person-name.ts'
import { UserError } from '../values/user-error.ts'
import { batchesOf } from '../warehouse/dialect.ts'
import type { BatchSummary } from './core/batches.ts'
import type {
  BatchDecisionReport,
  DecisionReport,
  DecisionTerms,
  OutboxFilter,
  SelectionMismatch,
} from './core/decision-terms.ts'
import { type BatchDecision, decisionOf, type OutboxDecision } from './core/decisions.ts'
import type { OutboxEntry } from './core/outbox-entry.ts'
import {
  nextState,
  presentStatuses,
  type StatusCounts,
  toStoredState,
  type WritebackStatus,
} from './core/state.ts'
import { idsReturned } from './sql/batch-decisions.ts'
import type { Outbox } from './sql/outbox.ts'

const stepsShown = 20

/** What a digest for an approval names. */
export const approvable = ['draft'] as const satisfies readonly WritebackStatus[]

/**
 * `ids` may be beginnings or ends of ids. Throws UserError, before any change, if one matches no id
 * or several, or no batch. If what was `shown` has changed, nothing is decided; an approval by a
 * digest is about drafts alone.
 */
export async function executeDecision(
  outbox: Outbox,
  decision: OutboxDecision,
  selection: OutboxFilter,
  { shown, ...terms }: DecisionTerms,
): Promise<Omit<DecisionReport, 'project'> | Omit<SelectionMismatch, 'project'>> {
  const statuses = shown !== undefined && decision === 'approved' ? { statuses: approvable } : {}
  const resolve = async (given: OutboxFilter) => ({
    ...(await resolveSelection(outbox, given)),
    ...statuses,
  })
  const filter = await resolve(selection)
  const named =
    shown === undefined || shown.filter === selection ? filter : await resolve(shown.filter)
  // Rows that get this status now did not stay so, and others may leave it before the count.
  const asked: readonly WritebackStatus[] | undefined = filter.statuses
  const reached = [decisionOf(decision).to].filter((status) => asked?.includes(status) ?? true)
  const before = await outbox.countByStatus({ ...filter, statuses: reached })
  const result = await outbox.decide(
    decision,
    filter,
    shown ? { ...terms, shown: { ...shown, filter: named } } : terms,
  )
  if ('moved' in result) return describeMismatch(outbox, named, result.moved)
  const { count, ids, following } = result
  const made = { ...terms, decision }
  const stayed =
    filter.ids === undefined || filter.ids.length > idsReturned
      ? await stayedByStatus(outbox, filter, before, made)
      : await stayedById(outbox, filter.ids, ids, made)
  const [first] =
    decision === 'approved' && count > 0 ? await outbox.list({ ids: ids.slice(0, 1) }, 1) : []
  const undoUntil = first?.undoUntil ?? null
  return {
    moved: count,
    ids,
    stayed,
    ...(following && { following }),
    ...(undoUntil !== null && { undoUntil }),
  }
}

/** `batch`: its name or a unique beginning of it. */
export type BatchDecisionRequest = Pick<DecisionTerms, 'by' | 'audit' | 'shown'> & {
  readonly batch: string
}

/** Throws UserError if it is so already. */
export async function executeBatchDecision(
  outbox: Outbox,
  decision: BatchDecision,
  { batch: name, by, ...options }: BatchDecisionRequest,
): Promise<Omit<BatchDecisionReport, 'project'> | Omit<SelectionMismatch, 'project'>> {
  const batch = await requireBatch(outbox, name)
  const result = await outbox.decideBatch(decision, batch.id, by, options)
  if (result === null) throw unchangedBatch(batch, decision)
  if (!('inFlight' in result)) return describeMismatch(outbox, { batch: batch.id }, result.moved)
  return { batch: batch.id, decision, ...result }
}

function unchangedBatch(
  { id, state, stoppedAt, stoppedBy }: BatchSummary,
  decision: BatchDecision,
): UserError {
  const show = `\`deskmirror writeback batches show ${id}\` shows it`
  if (decision === 'resumed') return unchanged(`${id} is not stopped`, show)
  if (stoppedAt !== null)
    return unchanged(
      `${id} was stopped by ${stoppedBy} at ${stoppedAt}`,
      `\`deskmirror writeback resume --batch ${id}\` goes on`,
    )
  if (state !== 'draft') return unchanged(`nothing of ${id} is left to send`, show)
  const next = `to give it up: \`deskmirror writeback cancel --batch ${id}\``
  return unchanged(`${id} waits for approval, so nothing of it is sent`, next)
}

/** Parts of ids and names become whole ones, and a person's name all of its spellings. */
async function resolveSelection(outbox: Outbox, selection: OutboxFilter): Promise<OutboxFilter> {
  const { ids, batch, approvedBy } = selection
  const isApprover = (name: string) =>
    approvedBy?.some((other) => isSamePerson(other, name)) === true
  return {
    ...selection,
    ...(approvedBy && {
      approvedBy: [...approvedBy, ...(await outbox.listApprovers()).filter(isApprover)],
    }),
    ...(ids && { ids: await resolveIds(outbox, ids) }),
    ...(batch !== undefined && { batch: (await requireBatch(outbox, batch)).id }),
  }
}

async function describeMismatch(
  outbox: Outbox,
  { statuses: _, ...filter }: OutboxFilter,
  now: SelectionMismatch['now'],
): Promise<Omit<SelectionMismatch, 'project'>> {
  const steps = await outbox.listLatestEvents(filter, stepsShown)
  return { outcome: 'moved', now, counts: await outbox.countByStatus(filter), steps }
}

function canMove(status: WritebackStatus, decision: OutboxDecision): boolean {
  const to = nextState(status, decision)
  return to !== null && toStoredState(to).status !== status
}

type DecisionMade = DecisionTerms & { readonly decision: OutboxDecision }

/** `before`: how many rows had the status that the decision leads to. */
async function stayedByStatus(
  outbox: Outbox,
  filter: OutboxFilter,
  before: StatusCounts,
  made: DecisionMade,
): Promise<DecisionReport['stayed']> {
  const { decision } = made
  const counts: StatusCounts = {
    ...(await outbox.countByStatus(filter)),
    [decisionOf(decision).to]: 0,
    ...before,
  }
  const present = presentStatuses(counts).map((status) => ({ status, count: counts[status] ?? 0 }))
  // Taking approvals back is about what is queued; what has left earlier is not worth a line.
  const stayed =
    decision === 'approval_undone' ? [] : present.filter(({ status }) => !canMove(status, decision))
  // Their batch is stopped, or it would be one's own approval.
  const refused = present.filter(({ status }) => canMove(status, decision))
  const isExplained =
    decision === 'approved' ||
    decision === 'approval_undone' ||
    (decision === 'retried' && made.approveOwn === false)
  const [example] =
    refused.length > 0 && isExplained
      ? await outbox.list({ ...filter, statuses: refused.map(({ status }) => status) }, 1)
      : []
  return [
    ...stayed.map(({ status, count }) => ({
      id: null,
      status,
      count,
      why: whyStayed(status, decision),
    })),
    ...refused.flatMap(({ status, count }) =>
      example === undefined ? [] : [{ id: null, status, count, why: whyRefused(example, made) }],
    ),
  ]
}

async function stayedById(
  outbox: Outbox,
  ids: readonly string[],
  moved: readonly string[],
  made: DecisionMade,
): Promise<DecisionReport['stayed']> {
  const left = ids.filter((id) => !moved.includes(id))
  const entries = left.length === 0 ? [] : await outbox.list({ ids: left }, left.length)
  return entries.map((entry) => {
    const { id, status } = entry
    const why = canMove(status, made.decision)
      ? whyRefused(entry, made)
      : whyStayed(status, made.decision)
    return { id, status, count: 1, why }
  })
}

/** Why a decision that the status allows was not made. */
function whyRefused(
  { status, stoppedBy, undoUntil, batchId }: OutboxEntry,
  { decision, approveOwn }: DecisionMade,
): string {
  if (decision === 'approval_undone')
    return undoUntil === null
      ? 'no approval that can be undone; `writeback stop --batch` puts what has not left back ' +
          'to draft'
      : `the grace of the approval ended at ${undoUntil}; \`writeback stop --batch\` puts ` +
          'what has not left back to draft'
  if (status === 'sending')
    return (
      'a process waits for the response; if that process has ended, the next push or the ' +
      'worker finds the outcome'
    )
  if (stoppedBy !== null)
    return `the batch was stopped by ${stoppedBy}: \`writeback resume --batch ${batchId ?? ''}\``
  if (approveOwn === false) return 'someone else has to approve what you queued (approve_own: off)'
  return 'the batch is stopped: resume it first with `writeback resume`'
}

/** Why the decision does not apply in this status, and what to do instead. */
function whyStayed(status: WritebackStatus, decision: OutboxDecision): string {
  if (status === 'sending' && decision === 'cancelled')
    return 'what did not arrive becomes cancelled, and is not sent again'
  if (status === 'sending') return 'perhaps sent already; the outcome is found automatically'
  if (status === 'uncertain') return 'resolve first with `writeback resolve`'
  if (decision === 'arrived' || decision === 'lost') return 'the outcome is known'
  if (status === 'succeeded') return 'what has arrived cannot be undone'
  if (status === 'draft') return 'approve first with `writeback approve`'
  if (status === 'queued') return 'queued already'
  if (decision === 'cancelled') return 'nothing more is sent'
  return 'to send again: `writeback retry`'
}

/** Names further back are not suggested. */
const namesConsidered = 10_000
const maxSuggestions = 3

/** A batch's name or a unique beginning of it. Throws UserError if there is none, or several. */
export async function requireBatch(
  outbox: Outbox,
  typed: string,
  what = 'nothing was changed',
): Promise<BatchSummary> {
  const name = cleanKey(typed)
  // SQL may have given it a name that a person would not paste.
  const batch = (await outbox.findBatch(typed)) ?? (await outbox.findBatch(name))
  if (batch !== null) return batch
  const names = await outbox.listBatchNames(namesConsidered)
  const [only, ...others] = name === '' ? [] : names.filter((known) => known.startsWith(name))
  const found = only === undefined || others.length > 0 ? null : await outbox.findBatch(only)
  if (found !== null) return found
  const near =
    only === undefined ? nearBatches(name, names) : [only, ...others].slice(0, maxSuggestions)
  const why =
    others.length > 0
      ? `several batches begin with ${name}`
      : `there is no write-back of a batch ${name}`
  const next =
    near.length > 0 ? `write ${near.join(' or ')}` : '`deskmirror writeback batches` lists them'
  throw new UserError({ what, why, next, exitCode: 2 })
}

/** Names are also compared without their digest, which nobody types. The newest come first. */
function nearBatches(typed: string, names: readonly string[]): readonly string[] {
  const plain = new Set(nearestNames(withoutDigest(typed), [...new Set(names.map(withoutDigest))]))
  const near = [
    ...nearestNames(typed, names),
    ...names.filter((name) => plain.has(withoutDigest(name))),
  ]
  return [...new Set(near)].slice(0, maxSuggestions)
}

/** `replies-0123456789ab-revert` → `replies-revert` */
function withoutDigest(name: string): string {
  return name.replace(/-[0-9a-f]{12}(?=-revert|$)/, '')
}

/** Ids, or unique beginnings or ends of them. Throws UserError if one matches none or several. */
export async function resolveIds(
  outbox: Outbox,
  parts: readonly string[],
  what?: string,
): Promise<readonly string[]> {
  const found: string[] = []
  const whole = await findWholeIds(outbox, parts)
  for (const part of parts) {
    const [id, ...others] = whole.has(part) ? [part] : await outbox.findIds(part)
    const none = `there is no write-back with the id ${part}`
    if (id === undefined) throw unchanged(none, '`writeback list` shows them', what)
    if (others.length > 0)
      throw unchanged(describeSeveral(part, [id, ...others]), 'write more of the id', what)
    found.push(id)
  }
  return [...new Set(found)]
}

/** A decision about what was shown names thousands by their whole ids. */
async function findWholeIds(
  outbox: Outbox,
  parts: readonly string[],
): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  if (parts.length === 1) return found
  for (const ids of batchesOf(parts, 1000))
    for (const { id } of await outbox.list({ ids }, ids.length)) found.add(id)
  return found
}

function describeSeveral(part: string, ids: readonly string[]): string {
  return `several ids begin or end with ${part}: ${ids.join(', ')}${ids.length > 2 ? ', …' : ''}`
}

function unchanged(why: string, next: string, what = 'nothing was changed'): UserError {
  return new UserError({ what, why, next, exitCode: 2 })
}
