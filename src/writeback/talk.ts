/** What was said in a conversation, as the service shows it now. */
import { readList } from '../api/pager.ts'
import type { MirrorRow } from '../core/row.ts'
import { type EpochMs, moment, type Seconds } from '../core/time.ts'
import { type Knowledge, recall } from '../core/walk/knowledge.ts'
import { pageLimit } from '../core/walk/list.ts'
import { everything, type Range } from '../core/walk/position.ts'
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
  const askedAt = deps.now()
  return talkOf(await readPages(deps, conversation, everything, null), askedAt)
}

/**
 * The same, where it matters that nothing is passed by: pages are asked for from the last time seen, and one row that is
 * dated ahead and ends a page lets the next one begin too late. So what takes more than a page is read again from the
 * middle of the first one, and has to show the same. Throws CallFailed.
 */
export async function readTalkTwice(deps: WritebackDeps, conversation: string): Promise<Talk> {
  const askedAt = deps.now()
  const first = await readPages(deps, conversation, everything, null)
  const { middle, known, rows } = first
  if (first.pages <= 1 || !first.whole || middle === null) return talkOf(first, askedAt)
  const range = (known.side ?? 'up') === 'up' ? { lo: middle, hi: null } : { lo: 0, hi: middle }
  const again = await readPages(deps, conversation, range, known)
  const same = again.whole && [...again.rows.keys()].every((id) => rows.has(id))
  return talkOf({ ...first, rows: new Map([...again.rows, ...rows]), whole: same }, askedAt)
}

type Pages = {
  readonly rows: ReadonlyMap<string, MirrorRow>
  readonly pages: number
  readonly whole: boolean
  /** A time from the middle of the first page. */
  readonly middle: Seconds | null
  readonly known: Knowledge
}

async function readPages(
  deps: WritebackDeps,
  conversation: string,
  range: Range,
  before: Knowledge | null,
): Promise<Pages> {
  const list = messages.list(deps.project, conversation)
  let known = before ?? recall(list, await deps.outbox.behaviours())
  const rows = new Map<string, MirrorRow>()
  let [pages, whole, sorted] = [0, true, true]
  let middle: Seconds | null = null
  for await (const read of readList(deps.get, { list, known, ranges: [range], lane: 'write' })) {
    const { rows: found, refused } = messages.rows(read.items, conversation)
    const said = found.map(toSaid)
    for (const row of found) rows.set(String(row.columns.id), row)
    known = read.known
    middle ??= said[said.length >> 1]?.at ?? null
    if (read.ends && read.items.length > 0) pages += 1
    whole &&= refused.length + read.refused.length + read.missed.length === 0
    whole &&= found.every(({ columns }) => columns.id != null)
    sorted &&= isSorted(said)
    if (read.learned.length > 0) await deps.outbox.learn(read.learned)
    if ((pages >= mostPages || rows.size > mostPages * pageLimit) && !read.done) {
      whole = false
      break
    }
  }
  // Where rows are not in the order of their times, the step from one page to the next may pass some by.
  return { rows, pages, whole: whole && (sorted || pages <= 1), middle, known }
}

function talkOf({ rows, whole }: Pages, askedAt: EpochMs): Talk {
  const all = [...rows.values()]
  const oldestFirst = (some: readonly MirrorRow[]) => some.map(toSaid).sort(byTime)
  return { said: oldestFirst(all.filter(isSaid)), shown: oldestFirst(all), rows: all, askedAt, whole }
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
