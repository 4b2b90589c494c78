/** Reads a list page by page: asks what the walk wants to know, and hands over what came. The walk is the only memory. */
import type { Answer, Get, Items, Query } from '../core/call.ts'
import { CallFailed } from '../core/failure.ts'
import type { Lane } from '../core/lane.ts'
import type { Behaviour, Json, Refused as RefusedRow } from '../core/row.ts'
import { rfc3339, type Seconds } from '../core/time.ts'
import { datedAhead } from '../core/walk/ahead.ts'
import { doubtOf, settled } from '../core/walk/doubt.ts'
import type { Page } from '../core/walk/evidence.ts'
import { type Knowledge, lessons } from '../core/walk/knowledge.ts'
import { type List, pageLimit } from '../core/walk/list.ts'
import { besideNeighbours } from '../core/walk/neighbours.ts'
import type { Asked, Times } from '../core/walk/order.ts'
import type { Range } from '../core/walk/position.ts'
import { reasons, type Step, type Walk } from '../core/walk/state.ts'
import { ask, position, type Refused, refused, startWalk, step } from '../core/walk/walk.ts'
import { builtItems } from './items.ts'

export type Missed = { readonly range: Range; readonly reason: string }

/** What one answer brought, or a part of it. To be stored whole: a walk that stops after it goes on from `position`. */
export type PageRead = {
  readonly items: readonly Json[]
  /** Rows that came, and are too large to be built. */
  readonly refused: readonly RefusedRow[]
  /** Whether these are the last rows of their answer: a large one is handed over in parts. */
  readonly ends: boolean
  /** Null where nothing came: the service refused the question, or its answer was handed over before. */
  readonly answer: Answer | null
  /** What is still to be covered, by this walk or the next. */
  readonly position: readonly Range[]
  readonly missed: readonly Missed[]
  readonly learned: readonly Behaviour[]
  readonly known: Knowledge
  /** The ids of those rows that are dated ahead of the clocks. */
  readonly ahead: readonly string[]
  /** Nothing is left to ask. */
  readonly done: boolean
}

export type Reading = {
  readonly list: List
  /** What earlier walks learned; null = nothing. */
  readonly known: Knowledge | null
  readonly ranges: readonly Range[]
  readonly lane: Lane
  /** Whether the service says of any last page that there is more; null = not known yet. */
  readonly habit?: boolean | null
}

/** Every page of the ranges, in an order that the service decides. Throws CallFailed. */
export async function* readList(get: Get, { list, known, ranges, lane, habit }: Reading): AsyncGenerator<PageRead> {
  let walk = startWalk(list, known, ranges, habit)
  let told = walk.known
  while (walk.now !== null) {
    const asked = ask(walk)
    const reply = await request(get, walk, asked, {}, lane)
    if (reply.kind === 'page') walk = await withoutDoubt(get, walk, asked, reply.page, lane)
    const next = reply.kind === 'page' ? step(walk, asked, reply.page) : refused(walk, reply.parameter)
    const read = tell(list, told, next, reply, asked)
    const still = { position: position(walk), missed: [], done: false } satisfies Partial<PageRead>
    if (next.crowded.length === 0) {
      yield* inParts(reply, read, still)
    } else {
      // The position moves on only when the crowded second has been asked for in every other way.
      yield* inParts(reply, { ...read, ...still }, still)
      const missed = [...next.missed]
      for (const second of next.crowded) {
        const whole = yield* readParts(get, walk, next.walk.known, second, lane)
        if (!whole) missed.push({ range: { lo: second, hi: second }, reason: reasons.crowded })
      }
      yield { ...read, answer: null, learned: [], missed }
    }
    told = next.walk.known
    walk = next.walk
  }
}

/** The rows of an answer as they are built; what it means comes with the last of them. */
function* inParts(reply: Reply, read: PageRead, still: Partial<PageRead>): Generator<PageRead> {
  if (reply.kind === 'refused') return yield read
  let before: PageRead | null = null
  for (const { items, refused } of reply.items.portions()) {
    if (before !== null) yield { ...before, ...still, learned: [], ends: false }
    before = { ...read, items, refused }
  }
  yield before ?? read
}

/** Asks again, for one row, where the page alone does not tell. */
async function withoutDoubt(get: Get, walk: Walk, asked: Asked, page: Page, lane: Lane): Promise<Walk> {
  const doubt = doubtOf(walk, asked, page)
  if (doubt === null) return walk
  const again = await request(get, walk, doubt, {}, lane, 1)
  return settled(walk, asked, page, again.kind === 'page' ? again.page : null)
}

/** Asks for each part of the list at a crowded second. True if the parts showed the second whole. */
async function* readParts(
  get: Get,
  walk: Walk,
  known: Knowledge,
  second: Seconds,
  lane: Lane,
): AsyncGenerator<PageRead, boolean> {
  const { includes, order } = known
  const up = walk.leg?.side !== 'down'
  const asked: Asked = up
    ? { lower: includes.up === false ? second - 1 : second }
    : { upper: includes.down === false ? second + 1 : second }
  const [field = ''] = order?.fields ?? []
  let whole = walk.list.parts.length > 0
  for (const part of walk.list.parts) {
    const reply = await request(get, walk, asked, part, lane)
    if (reply.kind === 'refused') return false
    const { answer, page } = reply
    const beyond = page.times.some((row) => (row.get(field) ?? second) !== second)
    whole &&= beyond || !(page.hasMore || page.ids.length >= pageLimit)
    const still = { position: position(walk), missed: [], done: false } satisfies Partial<PageRead>
    const ahead = datedAhead(order, page)
    yield* inParts(reply, { ...nothing, answer, learned: [], known, ahead, ...still }, still)
  }
  return whole
}

const nothing = { items: [], refused: [], ends: true } satisfies Partial<PageRead>

type Reply =
  | { readonly kind: 'page'; readonly page: Page; readonly items: Items; readonly answer: Answer }
  | { readonly kind: 'refused'; readonly parameter: Refused }

async function request(get: Get, walk: Walk, asked: Asked, part: Query, lane: Lane, limit = pageLimit): Promise<Reply> {
  const { list, known } = walk
  const bounds: Record<string, string> = {}
  if (list.lower !== null && asked.lower !== undefined) bounds[list.lower] = rfc3339(asked.lower)
  if (list.upper !== null && asked.upper !== undefined) bounds[list.upper] = rfc3339(asked.upper)
  const sent = { ...bounds, limit: known.trust.limit === 'refused' ? undefined : limit }
  try {
    const answer = await get(list.path, { ...list.query, ...part, ...sent }, lane)
    return { kind: 'page', ...readPage(list, answer), answer }
  } catch (error) {
    const parameter = blamed(error, walk, sent)
    if (parameter === null) throw error
    return { kind: 'refused', parameter }
  }
}

/** The parameter that a 400 is about; null if it is about something else. */
function blamed(error: unknown, walk: Walk, sent: Readonly<Record<string, unknown>>): Refused | null {
  const { list, known, leg } = walk
  if (!(error instanceof CallFailed)) return null
  const { failure } = error
  if (failure.kind !== 'refused' || failure.status !== 400) return null
  const has = (name: string | null) => name !== null && sent[name] !== undefined
  if (list.documented)
    return list.upper !== null && list.lower !== null && !has(list.upper) && !known.closed ? 'open end' : null
  const named = failure.fields.some((field) => field.toLowerCase().includes('limit'))
  if (has('limit') && named) return 'limit'
  if (leg !== null && (has(list.lower) || has(list.upper))) return 'bound'
  return has('limit') && known.trust.limit === 'try' ? 'limit' : null
}

/** A list whose `limit` is documented may hold so many times what was asked for; all beyond is no page. */
const mostTimes = 5

function readPage(list: List, answer: Answer): { page: Page; items: Items } {
  const { data, status, requestId } = answer
  const body = typeof data === 'object' && data !== null && !Array.isArray(data) ? (data as Record<string, Json>) : {}
  const items = answer.items ?? builtItems(Array.isArray(data) ? (data as readonly Json[]) : body.items)
  if (items === null) {
    const why = `${list.path} answered without a list of items`
    throw new CallFailed({ kind: 'transient', why, left: true, status, requestId })
  }
  if (list.documented && items.count > mostTimes * pageLimit) {
    const why = `${list.path} answered ${items.count} rows, where ${pageLimit} at most were asked for`
    throw new CallFailed({ kind: 'refused', status, code: `http_${status}`, why, fields: [], requestId })
  }
  return { page: { ...pageOf(list, items), hasMore: body.hasMore === true, horizon: answer.horizon }, items }
}

function pageOf(list: List, items: Items): Pick<Page, 'ids' | 'times'> {
  const page = { ids: [] as string[], times: [] as Times[], rows: [] as Json[] }
  for (const portion of items.portions()) {
    for (const item of portion.items) {
      page.ids.push(list.identify(item))
      page.times.push(list.times(item))
      page.rows.push(items.count > mostTimes * pageLimit ? null : item)
    }
    // They were shown, and count for the size of the page.
    for (const { id, why } of portion.refused) {
      page.ids.push(id ?? `refused: ${why}`)
      page.times.push(new Map())
      page.rows.push(null)
    }
  }
  const isOdd = (row: number, field: string) => (Object(page.rows[row]) as Record<string, Json>)[field] != null
  return { ids: page.ids, times: besideNeighbours(page.times, isOdd) }
}

function tell(list: List, told: Knowledge, next: Step, reply: Reply, asked: Asked): PageRead {
  const since = asked.lower === undefined ? '' : ` from ${rfc3339(asked.lower)}`
  const until = asked.upper === undefined ? '' : ` to ${rfc3339(asked.upper)}`
  const answer = reply.kind === 'page' ? reply.answer : null
  const what = reply.kind === 'page' ? `a page of ${reply.items.count} rows` : 'a 400'
  const evidence = `${what}${since}${until}, request ${answer?.requestId ?? 'without id'}`
  const learned = lessons(list, told, next.walk.known, evidence)
  const { walk, missed } = next
  const ahead = reply.kind === 'page' ? datedAhead(walk.known.order, reply.page) : []
  const stand = { position: position(walk), known: walk.known, ahead, done: walk.now === null }
  return { ...nothing, answer, missed, learned, ...stand }
}
