/** The rows as the service shows them: with shifted times, and some of them late. The state has the real ones. */
import type { EpochMs, Ms } from '../core/time.ts'
import type { Activity, Conversation, Message, PhoneCall, Row, Sequence, Visitor } from './model.ts'
import { alterReply, altersReplies, replyDelayMs, replyOffsetMs } from './reply.ts'
import type { RowStore } from './row-store.ts'
import type { CallTime } from './seed/calls.ts'
import type { ConversationTime } from './seed/conversations.ts'
import { purposes, toUnitInterval } from './seed/random.ts'
import type { VisitorTime } from './seed/visitors.ts'
import type { ProjectState } from './state.ts'
import { parseNames, type Switches } from './switches.ts'

const rowKinds = ['conversations', 'visitors', 'calls', 'messages', 'activity'] as const
export type RowKind = (typeof rowKinds)[number]

/** Parses a comma-separated list of row kinds. Throws RangeError for others. */
export function parseRowKinds(list: string): readonly RowKind[] {
  return parseNames(list, rowKinds, (name) => `there are no rows ${name}; there are ${rowKinds.join(', ')}`)
}

export type View = {
  /** Lists, ordered by one of their shown times, without late rows. */
  readonly conversations: (by: ConversationTime) => Sequence<Conversation>
  readonly visitors: (by: VisitorTime) => Sequence<Visitor>
  readonly calls: (by: CallTime) => Sequence<PhoneCall>
  readonly messages: (conversation: Conversation) => Sequence<Message>
  readonly activity: (visitor: Visitor) => Sequence<Activity>
  /** A row as its list shows it: possibly an old version. */
  readonly asListed: {
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
  /** Single rows with their shown times, whether late or not. */
  readonly asShown: {
    readonly conversation: (row: Conversation) => Conversation
    readonly visitor: (row: Visitor) => Visitor
    readonly call: (row: PhoneCall) => PhoneCall
    readonly message: (conversation: Conversation, row: Message) => Message
    readonly activity: (visitor: Visitor, row: Activity, k: number) => Activity
  }
}

export function createView(state: ProjectState, s: Switches): View {
  const offsets = createTimeOffsets(state, s)
  const delays = createDelays(state, s)
  const zone = s['rows.zone'] * 3_600_000
  const asShown = createDisplay(state, s, offsets)
  const listRows = <T extends Row, Field extends string>(
    kind: RowKind,
    store: RowStore<T, Field>,
    field: Field,
    timeOf: (row: T) => EpochMs,
    show: (row: T) => T,
  ): Sequence<T> => {
    if (!offsets.any && !delays.any(kind) && zone === 0) return store.orderedBy(field)
    const rows: { row: T; at: EpochMs }[] = []
    for (const row of store.all()) {
      const visible = store.asOf(row, delays.of(kind, row.index))
      if (visible !== undefined) rows.push({ row: show(visible), at: timeOf(show(visible)) - zone })
    }
    return sortByTime(rows, (a, b) => a.index - b.index)
  }
  const findRow = <T extends Row, Field extends string>(
    kind: RowKind,
    store: RowStore<T, Field>,
    id: string,
    show: (row: T) => T,
  ) => {
    const row = store.find(id)
    const visible = row === undefined || !s['late.byId'] ? row : store.asOf(row, delays.of(kind, row.index))
    return visible === undefined ? undefined : show(visible)
  }
  const listedCopy = <T extends Row, Field extends string>(store: RowStore<T, Field>, row: T, show: (row: T) => T) => {
    const now = store.at(row.index)
    const copy = now === undefined ? undefined : store.staleCopy(now, s['stale.ms'])
    return copy === now || copy === undefined ? row : show(copy)
  }
  const { conversations, visitors, calls } = state
  return {
    asShown,
    conversations: (by) => listRows('conversations', conversations, by, (row) => row[by], asShown.conversation),
    visitors: (by) => listRows('visitors', visitors, by, (row) => row[by], asShown.visitor),
    calls: (by) => listRows('calls', calls, by, (row) => row[by], asShown.call),
    messages(conversation) {
      const all = state.messages(conversation)
      if (!offsets.any && !delays.any('messages') && zone === 0 && !altersReplies(s)) return all
      const delayOf = (row: Message) => delays.of('messages', row.id) + replyDelayMs(row, s)
      const visible = [...each(all)].filter((row) => state.clock() - row.createdAt >= delayOf(row))
      const rows = visible.map((row) => asShown.message(conversation, row))
      return sortByTime(
        rows.map((row) => ({ row, at: row.createdAt - zone })),
        (a, b) => a.id - b.id,
      )
    },
    activity(visitor) {
      const all = state.activity(visitor)
      if (!offsets.any && !delays.any('activity') && zone === 0) return all
      const rows = [...each(all)].flatMap((row, k) => {
        if (state.clock() - row.at < delays.of('activity', visitor.index, k)) return []
        const shown = asShown.activity(visitor, row, k)
        return [{ row: shown, at: shown.at - zone }]
      })
      return sortByTime(rows, () => 0)
    },
    asListed: {
      conversation: (row) => listedCopy(conversations, row, asShown.conversation),
      visitor: (row) => listedCopy(visitors, row, asShown.visitor),
      call: (row) => listedCopy(calls, row, asShown.call),
    },
    find: {
      conversation: (id) => findRow('conversations', conversations, id, asShown.conversation),
      visitor: (id) => findRow('visitors', visitors, id, asShown.visitor),
      call: (id) => findRow('calls', calls, id, asShown.call),
    },
  }
}

function createDisplay(
  state: ProjectState,
  s: Switches,
  offsets: ReturnType<typeof createTimeOffsets>,
): View['asShown'] {
  const zone = s['rows.zone'] * 3_600_000
  const [isUnchanged, hasMisdatedMessages] = [
    !offsets.any && zone === 0,
    offsets.misdates('messages') || s['reply.seconds'] !== 0,
  ]
  const shiftBy = (by: Ms) => ({
    time: (at: EpochMs) => at + by + zone,
    timeOrNull: (at: EpochMs | null) => (at === null ? null : at + by + zone),
  })
  const message = (conversation: Conversation, row: Message): Message => {
    const by =
      offsets.of('conversations', conversation.index) + offsets.misdatedBy('messages', row.id) + replyOffsetMs(row, s)
    return isUnchanged ? alterReply(row, s) : { ...alterReply(row, s), createdAt: shiftBy(by).time(row.createdAt) }
  }
  const lastMessageAt = (row: Conversation): EpochMs => {
    const times = [...each(state.messages(row))].map((entry) => message(row, entry).createdAt)
    return (
      (s['misdated.last'] === 'latest' ? times.at(-1) : times.reduce((a, b) => Math.max(a, b), 0)) ?? row.lastMessageAt
    )
  }
  return {
    message,
    conversation(row) {
      if (isUnchanged) return row
      const { time, timeOrNull } = shiftBy(offsets.of('conversations', row.index))
      const shiftedTimes = {
        createdAt: time(row.createdAt),
        updatedAt: time(row.updatedAt),
        lastMessageAt: time(row.lastMessageAt),
      }
      const handledTimes = { handledAt: timeOrNull(row.handledAt), waitingSince: timeOrNull(row.waitingSince) }
      return {
        ...row,
        ...shiftedTimes,
        ...handledTimes,
        ...(hasMisdatedMessages ? { lastMessageAt: lastMessageAt(row) } : {}),
      }
    },
    visitor(row) {
      if (isUnchanged) return row
      const { time } = shiftBy(offsets.of('visitors', row.index))
      return {
        ...row,
        createdAt: time(row.createdAt),
        lastSeenAt: time(row.lastSeenAt),
        updatedAt: time(row.updatedAt),
      }
    },
    call(row) {
      if (isUnchanged) return row
      const { time, timeOrNull } = shiftBy(offsets.of('calls', row.index))
      return {
        ...row,
        startedAt: time(row.startedAt),
        endedAt: time(row.endedAt),
        recordedAt: timeOrNull(row.recordedAt),
      }
    },
    activity(visitor, row, k) {
      const by = offsets.of('visitors', visitor.index) + offsets.misdatedBy('activity', visitor.index, k)
      return isUnchanged ? row : { ...row, at: shiftBy(by).time(row.at) }
    },
  }
}

/** The offset of a row's times in milliseconds, without the zone. */
function createTimeOffsets({ seedData }: ProjectState, s: Switches) {
  const { 'rows.offset': offset, 'misdated.share': share, 'misdated.seconds': seconds } = s
  const affected = parseRowKinds(s['misdated.of'])
  const misdatedBy = (kind: RowKind, a: number, b = 0): Ms => {
    const is =
      share > 0 &&
      affected.includes(kind) &&
      toUnitInterval(seedData.random(purposes.misdated, a, rowKinds.indexOf(kind) + 8 * b)) < share
    return is ? seconds * 1000 : 0
  }
  return {
    any: offset !== 0 || s['reply.seconds'] !== 0 || (share > 0 && affected.length > 0),
    misdates: (kind: RowKind) => share > 0 && affected.includes(kind),
    misdatedBy,
    of: (kind: RowKind, index: number): Ms => offset * 1000 + misdatedBy(kind, index),
  }
}

function createDelays({ seedData }: ProjectState, s: Switches) {
  const { 'late.share': share, 'late.seconds': seconds } = s
  const affected = parseRowKinds(s['late.of'])
  const any = (kind: RowKind) => share > 0 && seconds > 0 && affected.includes(kind)
  return {
    any,
    of(kind: RowKind, a: number, b = 0): Ms {
      const is = any(kind) && toUnitInterval(seedData.random(purposes.late, a, rowKinds.indexOf(kind) + 8 * b)) < share
      return is ? seconds * 1000 : 0
    },
  }
}

function sortByTime<T>(
  rows: { readonly row: T; readonly at: EpochMs }[],
  compareTies: (a: T, b: T) => number,
): Sequence<T> {
  rows.sort((a, b) => a.at - b.at || compareTies(a.row, b.row))
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
