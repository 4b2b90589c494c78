/** The rows as the service shows them: with shifted times, and some of them late. The state has the real ones. */
import type { EpochMs, Ms } from '../core/time.ts'
import { createDisplay, createTimeOffsets, type Display, type TimeOffsets } from './display.ts'
import {
  type Activity,
  type Conversation,
  each,
  emptySequence,
  type Message,
  type Sequence,
  type TimedRow,
  type Visitor,
} from './model.ts'
import { altersReplies, replyDelayMs } from './reply.ts'
import { createRowSample, type RowKind } from './row-sample.ts'
import type { RowStore } from './row-store.ts'
import { purposes } from './seed/random.ts'
import type { ProjectState } from './state.ts'
import type { Switches } from './switches.ts'

export type View = ReturnType<typeof createView>

export function createView(state: ProjectState, s: Switches) {
  const offsets = createTimeOffsets(state, s)
  const asShown = createDisplay(state, s, offsets)
  const context = { state, s, offsets, delays: createDelays(state, s), asShown }
  const conversations = createRowsView('conversations', state.conversations, asShown.conversation, context)
  const visitors = createRowsView('visitors', state.visitors, asShown.visitor, context)
  const calls = createRowsView('calls', state.calls, asShown.call, context)
  return {
    asShown,
    /** Lists, ordered by one of their shown times, without late rows. */
    conversations: conversations.orderedBy,
    visitors: visitors.orderedBy,
    calls: calls.orderedBy,
    messages: (conversation: Conversation) => listMessages(conversation, context),
    activity: (visitor: Visitor) => listActivity(visitor, context),
    /** A row as its list shows it: possibly an old version. */
    asListed: { conversation: conversations.asListed, visitor: visitors.asListed, call: calls.asListed },
    /** Reads by id. */
    find: { conversation: conversations.find, visitor: visitors.find, call: calls.find },
  }
}

type ViewContext = {
  readonly state: ProjectState
  readonly s: Switches
  readonly offsets: TimeOffsets
  readonly delays: ReturnType<typeof createDelays>
  readonly asShown: Display
}

function createRowsView<T extends TimedRow<Field>, Field extends string>(
  kind: RowKind,
  store: RowStore<T, Field>,
  show: (row: T) => T,
  { s, offsets, delays }: ViewContext,
) {
  return {
    orderedBy(field: Field): Sequence<T> {
      if (s['missing.rows'] === 'all') return emptySequence
      if (!offsets.any && !delays.any(kind)) return store.orderedBy(field)
      const rows: T[] = []
      for (const row of store.all()) {
        const visible = store.asOf(row, delays.of(kind, row.index))
        if (visible !== undefined) rows.push(show(visible))
      }
      const undatedAt = s['undated.end'] === 'newest' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY
      const timeOf = (row: T) => (Number.isNaN(row[field]) ? undatedAt : row[field] - offsets.zone)
      return sortByTime(rows, timeOf, (a, b) => a.index - b.index)
    },
    find(id: string): T | undefined {
      const row = s['missing.rows'] === 'none' ? store.find(id) : undefined
      const visible = row === undefined || !s['late.byId'] ? row : store.asOf(row, delays.of(kind, row.index))
      return visible === undefined ? undefined : show(visible)
    },
    asListed(row: T): T {
      const now = store.at(row.index)
      const copy = now === undefined ? undefined : store.staleCopy(now, s['stale.ms'])
      return copy === now || copy === undefined ? row : show(copy)
    },
  }
}

function listMessages(conversation: Conversation, { state, s, offsets, delays, asShown }: ViewContext) {
  const all = state.messages(conversation)
  if (!offsets.any && !delays.any('messages') && !altersReplies(s)) return all
  const delayOf = (row: Message) => delays.of('messages', row.id) + replyDelayMs(row, s)
  const visible = [...each(all)].filter((row) => state.clock() - row.createdAt >= delayOf(row))
  const rows = visible.map((row) => asShown.message(conversation, row))
  const timeOf = (row: Message) => row.createdAt - offsets.zone
  return sortByTime(rows, timeOf, (a, b) => a.id - b.id)
}

function listActivity(visitor: Visitor, { state, offsets, delays, asShown }: ViewContext) {
  const all = state.activity(visitor)
  if (!offsets.any && !delays.any('activity')) return all
  const rows = [...each(all)].flatMap((row, k) => {
    const isLate = state.clock() - row.at < delays.of('activity', visitor.index, k)
    return isLate ? [] : [asShown.activity(visitor, row, k)]
  })
  const timeOf = (row: Activity) => row.at - offsets.zone
  return sortByTime(rows, timeOf, () => 0)
}

function createDelays({ seedData }: ProjectState, s: Switches) {
  const late = createRowSample(seedData, purposes.late, s['late.share'], s['late.of'])
  const delay: Ms = s['late.seconds'] * 1000
  return {
    any: (kind: RowKind) => delay > 0 && late.affects(kind),
    of: (kind: RowKind, a: number, b?: number): Ms => (delay > 0 && late.has(kind, a, b) ? delay : 0),
  }
}

function sortByTime<T>(rows: T[], timeOf: (row: T) => EpochMs, compareTies: (a: T, b: T) => number): Sequence<T> {
  rows.sort((a, b) => timeOf(a) - timeOf(b) || compareTies(a, b))
  const rowAt = (k: number) => {
    const row = rows[k]
    if (row === undefined) throw new Error(`there is no row ${k}`)
    return row
  }
  return { length: rows.length, timeAt: (k) => timeOf(rowAt(k)), rowAt }
}
