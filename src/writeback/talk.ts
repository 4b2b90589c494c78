/** What was said in a conversation, as the service shows it now. */
import { readList } from '../api/pager.ts'
import type { MirrorRow } from '../core/row.ts'
import { type EpochMs, moment, type Seconds } from '../core/time.ts'
import { recall } from '../core/walk/knowledge.ts'
import { everything } from '../core/walk/position.ts'
import { messages } from '../streams/messages.ts'
import type { WritebackDeps } from './deps.ts'

export type Said = {
  readonly id: string
  readonly at: Seconds | null
  readonly content: string | null
  readonly senderName: string | null
  readonly by: Side
}

/** Of the values only `agent` is documented. */
export type Side = 'ours' | 'visitor' | 'unknown'

export type Talk = {
  /** Oldest first, system events left out. */
  readonly said: readonly Said[]
  /** With system events: what a service takes for one is not documented. */
  readonly shown: readonly Said[]
  /** The same as rows for the mirror, with the moment they were asked for. */
  readonly rows: readonly MirrorRow[]
  readonly askedAt: EpochMs
  /** False: there may be messages that did not show. */
  readonly whole: boolean
}

/** A conversation with more pages is not read to its end: what became of a reply in it, nobody can tell. */
const mostPages = 50

/**
 * Every message, from the first one on: any bound of time could leave out just the one that is looked for, as the clocks of
 * a service may be wrong. Throws CallFailed.
 */
export async function readTalk(deps: WritebackDeps, conversation: string): Promise<Talk> {
  const list = messages.list(deps.project, conversation)
  const known = recall(list, await deps.outbox.behaviours())
  const rows = new Map<string, MirrorRow>()
  const askedAt = deps.now()
  let [pages, whole, sorted] = [0, true, true]
  for await (const read of readList(deps.get, { list, known, ranges: [everything], lane: 'write' })) {
    const { rows: found, refused } = messages.rows(read.items, conversation)
    for (const row of found) rows.set(String(row.columns.id), row)
    if (read.ends && read.items.length > 0) pages += 1
    whole &&= refused.length + read.refused.length + read.missed.length === 0
    whole &&= found.every(({ columns }) => columns.id != null)
    sorted &&= isSorted(found.map(toSaid))
    if (read.learned.length > 0) await deps.outbox.learn(read.learned)
    if (pages === mostPages && !read.done) whole = false
    if (!whole && pages >= mostPages) break
  }
  const oldestFirst = (some: readonly MirrorRow[]) => some.map(toSaid).sort(byTime)
  const all = [...rows.values()]
  // Where rows are not in the order of their times, the step from one page to the next may pass some by.
  const joined = sorted || pages <= 1
  return { said: oldestFirst(all.filter(isSaid)), shown: oldestFirst(all), rows: all, askedAt, whole: whole && joined }
}

/** One way or the other. */
function isSorted(page: readonly Said[]): boolean {
  const steps = page.slice(1).map(({ at }, n) => Math.sign((at ?? Number.NaN) - (page[n]?.at ?? Number.NaN)))
  return !steps.some(Number.isNaN) && !(steps.includes(1) && steps.includes(-1))
}

/** The documentation calls every other kind a system event. */
function isSaid({ columns }: MirrorRow): boolean {
  return columns.kind === 'utterance' || columns.kind === undefined || columns.kind === null
}

function toSaid({ columns }: MirrorRow): Said {
  return {
    id: String(columns.id),
    at: moment(columns.created_at) ?? null,
    content: textOf(columns.content),
    senderName: textOf(columns.sender_display_name),
    by: sideOf(columns.sender_type),
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

export function sideOf(senderType: unknown): Side {
  const name = String(senderType ?? '').toLowerCase()
  if (/^(agent|human_agent|ai|ai_agent|assistant|bot|system|automation|operator|team|workflow)$/.test(name))
    return 'ours'
  return /^(visitor|customer|user|end_?user|contact|guest|lead|client)$/.test(name) ? 'visitor' : 'unknown'
}

function byTime(a: Said, b: Said): number {
  return (a.at ?? 0) - (b.at ?? 0) || (/^\d+$/.test(a.id + b.id) ? Number(BigInt(a.id) - BigInt(b.id)) : 0)
}
