/**
 * What must be true of a world after its last quiet runs, whatever happened before. Each failure is
 * a sentence.
 */

import type { Warehouse } from '../../src/app/open.ts'
import { readGaps } from '../../src/maintenance/sql/status-report.ts'
import type { OutboxEntry } from '../../src/outbox/core/outbox-entry.ts'
import type { MemorySandbox } from '../../src/sandbox/memory-sandbox.ts'
import { parseTime } from '../../src/values/time.ts'
import { findDifferences, unexplainedDifferences } from '../mirror/sync/sync-sandbox.ts'
import { findUncoveredRows, hasListTime, listNames } from '../mirror/sync/uncovered-rows.ts'
import { mirroredStreams } from './program.ts'

/** Promise 6, and lanes: what arrived, how often, and in which order. */
export function checkWritebacks(
  sandbox: MemorySandbox,
  entries: readonly OutboxEntry[],
  cancelled: ReadonlySet<string>,
): string[] {
  return [
    ...entries.flatMap((entry) => checkArrivals(sandbox, entry)),
    ...entries.flatMap(({ id, status }) =>
      cancelled.has(id) && status !== 'cancelled'
        ? [`the write-back ${id} was cancelled, and is ${status}`]
        : [],
    ),
    ...checkStuck(entries),
    ...checkOrder(sandbox, entries),
  ]
}

/** How often the service may have carried out a write-back whose final status this is. */
const arrivals: Readonly<Record<OutboxEntry['status'], readonly [least: number, most: number]>> = {
  succeeded: [1, 1],
  uncertain: [0, 1],
  draft: [0, 0],
  queued: [0, 0],
  sending: [0, 1],
  failed: [0, 0],
  conflict: [0, 0],
  cancelled: [0, 0],
  expired: [0, 0],
}

function checkArrivals(
  sandbox: MemorySandbox,
  { id, operation, payload, status }: OutboxEntry,
): string[] {
  if (operation !== 'message' && operation !== 'note') return []
  const { content } = payload as { readonly content: string }
  const times = sandbox
    .ledger()
    .filter(({ body }) => Object.values(body as object).includes(content)).length
  const [least, most] = arrivals[status]
  if (times > 1) return [`the ${operation} ${id} (${content}) arrived ${times} times`]
  if (times < least) return [`the ${operation} ${id} (${content}) is ${status}, and never arrived`]
  return times > most ? [`the ${operation} ${id} (${content}) is ${status}, and arrived`] : []
}

/** Only a write-back behind one that a person has to decide about may still be waiting. */
function checkStuck(entries: readonly OutboxEntry[]): string[] {
  return entries.flatMap(({ id, status, seq, ...entry }) => {
    if (status !== 'queued' && status !== 'sending') return []
    const target = entry.conversationId ?? entry.visitorId
    const isBlocked = entries.some(
      (before) =>
        before.seq < seq &&
        (before.conversationId ?? before.visitorId) === target &&
        before.status === 'uncertain',
    )
    return status === 'queued' && isBlocked ? [] : [`the write-back ${id} is still ${status}`]
  })
}

function checkOrder(sandbox: MemorySandbox, entries: readonly OutboxEntry[]): string[] {
  const position = new Map(
    entries.map(({ payload, seq }) => [(payload as { content?: string }).content, seq]),
  )
  const sends = sandbox
    .ledger()
    .filter(({ operation }) => operation === 'sendMessage' || operation === 'addNote')
  const lanes = Map.groupBy(sends, ({ params }) => params.conversationId ?? params.visitorId ?? '')
  return [...lanes].flatMap(([target, lane]) => {
    const order = lane.map(
      ({ body }) => position.get(String(Object.values(body as object)[0])) ?? 0,
    )
    const isInOrder = order.every((seq, n) => n === 0 || seq >= (order[n - 1] ?? 0))
    return isInOrder ? [] : [`the writes to ${target} arrived in the order ${order.join(', ')}`]
  })
}

/** Promise 5. */
export function checkBudget(sandbox: MemorySandbox, windowMs: number): string[] {
  const { 'rate.limit': limit, 'rate.writes': writeLimit } = sandbox.switches()
  const entries = sandbox.log()
  const ownThrottle = entries.find(({ status, fault }) => status === 429 && fault !== 'foreign-429')
  const most = mostInWindow(entries, windowMs)
  const mostWrites = mostInWindow(
    entries.filter(({ write }) => write),
    windowMs,
  )
  return [
    ...(most > limit ? [`${most} requests arrived in one window, and ${limit} are allowed`] : []),
    ...(mostWrites > writeLimit
      ? [`${mostWrites} writes arrived in one window, and ${writeLimit} are allowed`]
      : []),
    ...(ownThrottle === undefined ? [] : [`request ${ownThrottle.number} was answered 429`]),
  ]
}

function mostInWindow(
  entries: readonly { readonly arrivedAt: number }[],
  windowMs: number,
): number {
  let [most, oldest] = [0, 0]
  for (const [n, { arrivedAt }] of entries.entries()) {
    while ((entries[oldest]?.arrivedAt ?? arrivedAt) <= arrivedAt - windowMs) oldest += 1
    most = Math.max(most, n - oldest + 1)
  }
  return most
}

/** After an incremental run: everything that it can see is there. */
export async function checkIncremental(
  warehouse: Warehouse,
  sandbox: MemorySandbox,
): Promise<string[]> {
  const found = await findDifferences(warehouse, sandbox, sandbox.projectId, mirroredStreams)
  const isVisible = ({ stream, here, there }: (typeof found)[number]) =>
    here === undefined ||
    (stream === 'conversations' && lastMessageAt(here) !== lastMessageAt(there))
  return found
    .filter(isVisible)
    .map((one) => `after a quiet incremental sync: ${JSON.stringify(one)}`)
}

function lastMessageAt(json: string | undefined): number | undefined {
  return parseTime((JSON.parse(json ?? '{}') as { lastMessageAt?: string }).lastMessageAt)
}

/** Promise 3, after a reconciliation: row by row as in the service, or a recorded gap. */
export async function checkMirror(warehouse: Warehouse, sandbox: MemorySandbox): Promise<string[]> {
  const found = await unexplainedDifferences(warehouse, sandbox, mirroredStreams)
  return found.map((one) => `after a quiet reconciliation: ${JSON.stringify(one)}`)
}

/**
 * Promise 3, whatever the lists of the service do: every row that is missing has an open gap at its
 * time. Rows without one are left out: at the far end of a list of several pages, no request shows
 * that there are any.
 */
export async function checkLists(
  warehouse: Warehouse,
  sandbox: MemorySandbox,
  when: string,
): Promise<string[]> {
  const failures: string[] = []
  for (const list of listNames) {
    const rows = (await findUncoveredRows(warehouse, sandbox, list)).filter((row) =>
      hasListTime(list, row),
    )
    if (rows.length === 0) continue
    const { gaps: all } = await readGaps(warehouse.db, sandbox.projectId)
    const gaps = all.filter(({ stream }) => stream === list)
    const ranges = gaps.map(({ from, to }) => `${from ?? ''}/${to ?? ''}`).join(', ') || 'none'
    failures.push(
      `after ${when}: ${rows.length} ${list} are missing without a gap, as ${rows[0]?.key}; gaps: ${ranges}`,
    )
  }
  return failures
}

/**
 * Every message that is missing, or that the service no longer has, is of a conversation that
 * counts as incomplete.
 */
export async function checkMessages(
  warehouse: Warehouse,
  sandbox: MemorySandbox,
  when: string,
): Promise<string[]> {
  const found = await unexplainedDifferences(warehouse, sandbox, ['conversations', 'messages'])
  const lost = found.filter(({ stream, how }) => stream === 'messages' && how !== 'different')
  return lost.map((one) => `after ${when}: ${JSON.stringify(one)}`)
}
