/** Rows as the service shows them: with times that are off, and some of them late. What really is, is in the state. */
import type { EpochMs, Ms } from '../core/time.ts'
import type { Activity, Conversation, Message, PhoneCall, Sequence, Visitor } from './model.ts'
import type { CallTime } from './past/calls.ts'
import type { ConversationTime } from './past/conversations.ts'
import { purposes, unit } from './past/dice.ts'
import type { VisitorTime } from './past/visitors.ts'
import { changesReplies, replyLateness, replyOffset, shownReply } from './reply.ts'
import type { Row, Shelf } from './shelf.ts'
import type { State } from './state.ts'
import type { Switches } from './switches.ts'

const kinds = ['conversations', 'visitors', 'calls', 'messages', 'activity'] as const
export type RowKind = (typeof kinds)[number]

/** The kinds that a comma-separated list names. Throws a RangeError for others. */
export function chosenRows(list: string): readonly RowKind[] {
  const names = list.split(',').map((name) => name.trim())
  const chosen = names.filter((name) => name !== '')
  for (const name of chosen) {
    if (!kinds.some((kind) => kind === name))
      throw new RangeError(`there are no rows ${name}; there are ${kinds.join(', ')}`)
  }
  return chosen as RowKind[]
}

export type View = {
  /** Lists, in the order of one of their shown times, without what is late. */
  readonly conversations: (by: ConversationTime) => Sequence<Conversation>
  readonly visitors: (by: VisitorTime) => Sequence<Visitor>
  readonly calls: (by: CallTime) => Sequence<PhoneCall>
  readonly messages: (conversation: Conversation) => Sequence<Message>
  readonly activity: (visitor: Visitor) => Sequence<Activity>
  /** A row of a list as the list shows it: maybe an old copy. */
  readonly copy: {
    readonly conversation: (row: Conversation) => Conversation
    readonly visitor: (row: Visitor) => Visitor
    readonly call: (row: PhoneCall) => PhoneCall
  }
  /** Reads by id. */
  readonly find: {
    readonly conversation: (id: string) => Conversation | undefined
    readonly visitor: (id: string) => Visitor | undefined
    readonly call: (id: string) => PhoneCall | undefined
  }
  /** Single rows with their shown times, late or not. */
  readonly as: {
    readonly conversation: (row: Conversation) => Conversation
    readonly visitor: (row: Visitor) => Visitor
    readonly call: (row: PhoneCall) => PhoneCall
    readonly message: (conversation: Conversation, row: Message) => Message
    readonly activity: (visitor: Visitor, row: Activity, k: number) => Activity
  }
}

export function viewOf(state: State, s: Switches): View {
  const off = offBy(state, s)
  const late = latenessOf(state, s)
  const zone = s['rows.zone'] * 3_600_000
  const as = shownBy(state, s, off)
  const listed = <T extends Row, Field extends string>(
    kind: RowKind,
    shelf: Shelf<T, Field>,
    field: Field,
    timeOf: (row: T) => EpochMs,
    show: (row: T) => T,
  ): Sequence<T> => {
    if (!off.any && !late.any(kind) && zone === 0) return shelf.by(field)
    const rows: { row: T; at: EpochMs }[] = []
    for (const row of shelf.all()) {
      const seen = shelf.asOf(row, late.of(kind, row.index))
      if (seen !== undefined) rows.push({ row: show(seen), at: timeOf(show(seen)) - zone })
    }
    return inOrder(rows, (a, b) => a.index - b.index)
  }
  const found = <T extends Row, Field extends string>(
    kind: RowKind,
    shelf: Shelf<T, Field>,
    id: string,
    show: (row: T) => T,
  ) => {
    const row = shelf.find(id)
    const seen = row === undefined || !s['late.byId'] ? row : shelf.asOf(row, late.of(kind, row.index))
    return seen === undefined ? undefined : show(seen)
  }
  const copyOf = <T extends Row, Field extends string>(shelf: Shelf<T, Field>, row: T, show: (row: T) => T) => {
    const now = shelf.at(row.index)
    const copy = now === undefined ? undefined : shelf.lagging(now, s['stale.ms'])
    return copy === now || copy === undefined ? row : show(copy)
  }
  const { conversations, visitors, calls } = state
  return {
    as,
    conversations: (by) => listed('conversations', conversations, by, (row) => row[by], as.conversation),
    visitors: (by) => listed('visitors', visitors, by, (row) => row[by], as.visitor),
    calls: (by) => listed('calls', calls, by, (row) => row[by], as.call),
    messages(conversation) {
      const all = state.messages(conversation)
      if (!off.any && !late.any('messages') && zone === 0 && !changesReplies(s)) return all
      const lateness = (row: Message) => late.of('messages', row.id) + replyLateness(row, s)
      const told = [...each(all)].filter((row) => state.clock() - row.createdAt >= lateness(row))
      const rows = told.map((row) => as.message(conversation, row))
      return inOrder(
        rows.map((row) => ({ row, at: row.createdAt - zone })),
        (a, b) => a.id - b.id,
      )
    },
    activity(visitor) {
      const all = state.activity(visitor)
      if (!off.any && !late.any('activity') && zone === 0) return all
      const rows = [...each(all)].flatMap((row, k) => {
        if (state.clock() - row.at < late.of('activity', visitor.index, k)) return []
        const told = as.activity(visitor, row, k)
        return [{ row: told, at: told.at - zone }]
      })
      return inOrder(rows, () => 0)
    },
    copy: {
      conversation: (row) => copyOf(conversations, row, as.conversation),
      visitor: (row) => copyOf(visitors, row, as.visitor),
      call: (row) => copyOf(calls, row, as.call),
    },
    find: {
      conversation: (id) => found('conversations', conversations, id, as.conversation),
      visitor: (id) => found('visitors', visitors, id, as.visitor),
      call: (id) => found('calls', calls, id, as.call),
    },
  }
}

function shownBy(state: State, s: Switches, off: ReturnType<typeof offBy>): View['as'] {
  const zone = s['rows.zone'] * 3_600_000
  const [same, strays] = [!off.any && zone === 0, off.strays('messages') || s['reply.seconds'] !== 0]
  const move = (by: Ms) => ({
    time: (at: EpochMs) => at + by + zone,
    timeOrNull: (at: EpochMs | null) => (at === null ? null : at + by + zone),
  })
  const message = (conversation: Conversation, row: Message): Message => {
    const by = off.of('conversations', conversation.index) + off.stray('messages', row.id) + replyOffset(row, s)
    return same ? shownReply(row, s) : { ...shownReply(row, s), createdAt: move(by).time(row.createdAt) }
  }
  const lastMessageAt = (row: Conversation): EpochMs => {
    const times = [...each(state.messages(row))].map((one) => message(row, one).createdAt)
    return (
      (s['misdated.last'] === 'latest' ? times.at(-1) : times.reduce((a, b) => Math.max(a, b), 0)) ?? row.lastMessageAt
    )
  }
  return {
    message,
    conversation(row) {
      if (same) return row
      const { time, timeOrNull } = move(off.of('conversations', row.index))
      const moved = {
        createdAt: time(row.createdAt),
        updatedAt: time(row.updatedAt),
        lastMessageAt: time(row.lastMessageAt),
      }
      const standing = { handledAt: timeOrNull(row.handledAt), waitingSince: timeOrNull(row.waitingSince) }
      return { ...row, ...moved, ...standing, ...(strays ? { lastMessageAt: lastMessageAt(row) } : {}) }
    },
    visitor(row) {
      if (same) return row
      const { time } = move(off.of('visitors', row.index))
      return {
        ...row,
        createdAt: time(row.createdAt),
        lastSeenAt: time(row.lastSeenAt),
        updatedAt: time(row.updatedAt),
      }
    },
    call(row) {
      if (same) return row
      const { time, timeOrNull } = move(off.of('calls', row.index))
      return {
        ...row,
        startedAt: time(row.startedAt),
        endedAt: time(row.endedAt),
        recordedAt: timeOrNull(row.recordedAt),
      }
    },
    activity(visitor, row, k) {
      const by = off.of('visitors', visitor.index) + off.stray('activity', visitor.index, k)
      return same ? row : { ...row, at: move(by).time(row.at) }
    },
  }
}

/** By how many milliseconds the times of a row are off, the zone apart. */
function offBy({ world }: State, s: Switches) {
  const { 'rows.offset': offset, 'misdated.share': share, 'misdated.seconds': seconds } = s
  const of = chosenRows(s['misdated.of'])
  const stray = (kind: RowKind, a: number, b = 0): Ms => {
    const is =
      share > 0 && of.includes(kind) && unit(world.dice(purposes.misdated, a, kinds.indexOf(kind) + 8 * b)) < share
    return is ? seconds * 1000 : 0
  }
  return {
    any: offset !== 0 || s['reply.seconds'] !== 0 || (share > 0 && of.length > 0),
    strays: (kind: RowKind) => share > 0 && of.includes(kind),
    stray,
    of: (kind: RowKind, index: number): Ms => offset * 1000 + stray(kind, index),
  }
}

function latenessOf({ world }: State, s: Switches) {
  const { 'late.share': share, 'late.seconds': seconds } = s
  const of = chosenRows(s['late.of'])
  const any = (kind: RowKind) => share > 0 && seconds > 0 && of.includes(kind)
  return {
    any,
    of(kind: RowKind, a: number, b = 0): Ms {
      const is = any(kind) && unit(world.dice(purposes.late, a, kinds.indexOf(kind) + 8 * b)) < share
      return is ? seconds * 1000 : 0
    },
  }
}

function inOrder<T>(rows: { readonly row: T; readonly at: EpochMs }[], among: (a: T, b: T) => number): Sequence<T> {
  rows.sort((a, b) => a.at - b.at || among(a.row, b.row))
  const at = (k: number) => {
    const found = rows[k]
    if (found === undefined) throw new Error(`there is no row ${k}`)
    return found
  }
  return { length: rows.length, timeAt: (k) => at(k).at, rowAt: (k) => at(k).row }
}

export function* each<T>(rows: Sequence<T>): Generator<T> {
  for (let position = 0; position < rows.length; position += 1) yield rows.rowAt(position)
}
