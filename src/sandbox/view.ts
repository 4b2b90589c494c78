/** The rows as the service shows them: with shifted times, altered replies, some late. */
import type { Json } from '../values/json.ts'
import type { EpochMs, Ms } from '../values/time.ts'
import type {
  Activity,
  Conversation,
  Message,
  PhoneCall,
  Sequence,
  TimedRow,
  Visitor,
} from './model.ts'
import { type ListQuery, listPage } from './paging.ts'
import { notFound } from './problem.ts'
import { purposes, toUnitInterval } from './random.ts'
import type { createRowStore } from './row-store.ts'
import type { ProjectState } from './state.ts'
import { parseNames, type Switches } from './switches.ts'
import { createWireFormat, toSingleRow } from './wire.ts'

export type View = ReturnType<typeof createView>

export function createView(projectId: string, state: ProjectState, s: Switches) {
  const changes = createTimeChanges(state, s)
  const shown = createDisplay(state, s, changes)
  const wire = createWireFormat(projectId, state, s)
  const createRowsView = <T extends TimedRow<Field>, Field extends string>(
    kind: 'conversations' | 'visitors' | 'calls',
    store: ReturnType<typeof createRowStore<T, Field>>,
    listTime: Field,
    withTimes: (row: T) => T,
    toWire: (row: T) => Json,
  ) => {
    const absent = s['undated.times'] === 'all' ? listTimes[kind] : [listTime]
    const withoutTimes = Object.fromEntries(absent.map((time) => [time, Number.NaN]))
    const show = (row: T): T => {
      const dated = withTimes(row)
      return changes.isUndated(kind, row.index) ? { ...dated, ...withoutTimes } : dated
    }
    const isLate = changes.delay(kind)
    const asOfNow = (row: T) => {
      const visible = store.asOf(row, changes.delayOf(kind, row.index))
      return visible === undefined ? undefined : show(visible)
    }
    const undatedAt =
      s['undated.end'] === 'newest' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY
    const timeOf = (row: T) =>
      Number.isNaN(row[listTime]) ? undatedAt : row[listTime] - changes.zone
    const inOrder = () => {
      if (s['missing.rows'] === 'all') return byTime<T>([], timeOf)
      if (!changes.shift && !isLate) return store.orderedBy(listTime)
      return byTime(
        [...store.all()].flatMap((row) => asOfNow(row) ?? []),
        timeOf,
      )
    }
    /** As the list shows it: possibly an old version. */
    const asListed = (row: T) => {
      const now = store.at(row.index)
      const copy = now === undefined ? undefined : store.staleCopy(now, s['stale.ms'])
      return copy === now || copy === undefined ? row : show(copy)
    }
    /** Throws Problem if there is none. */
    const find = (id: string | undefined): T => {
      const row = s['missing.rows'] === 'none' ? store.find(id ?? '') : undefined
      const found = row !== undefined && s['late.byId'] ? asOfNow(row) : row && show(row)
      if (found === undefined) throw notFound(kind.slice(0, -1))
      return found
    }
    return {
      show,
      find,
      page: (request: ListQuery<T>) =>
        listPage(inOrder(), request, s[`${kind}.order`], s, (row) => toWire(asListed(row))),
      /** What a read by its id returns. */
      single: (id: string | undefined) => toSingleRow(toWire(find(id)), s),
      /** The row as it is, whether late or not. */
      current: (row: T) => toWire(show(row)),
      /** All of them, in order of creation. */
      all: () => store.all().map((row) => ({ id: row.id, parentId: null, row: toWire(show(row)) })),
    }
  }
  const { conversations, visitors } = state
  const calls = createRowsView('calls', state.calls, s['calls.by'], shown.call, wire.call)
  return {
    conversations: createRowsView(
      'conversations',
      conversations,
      s['conversations.since'],
      shown.conversation,
      wire.conversation,
    ),
    visitors: createRowsView(
      'visitors',
      visitors,
      s['visitors.since'],
      shown.visitor,
      wire.visitor,
    ),
    calls,
    messages: {
      page(conversation: Conversation, request: ListQuery<Message>): Json {
        const delayOf = (row: Message) =>
          changes.delayOf('messages', row.id) + (row.reply ? s['reply.late'] : 0)
        const visible = state.messages
          .of(conversation)
          .filter((row) => state.clock() - row.createdAt >= delayOf(row))
        const rows = visible.map((row) => shown.message(conversation, row))
        const most = s['messages.most'] === 0 ? rows.length : s['messages.most']
        const sorted = byTime(rows.slice(-most), (row) => row.createdAt - changes.zone)
        return listPage(sorted, request, s['messages.order'], s, (row) =>
          wire.message(conversation.id, row),
        )
      },
      current: (conversation: Conversation, row: Message) =>
        wire.message(conversation.id, shown.message(conversation, row)),
    },
    activity: {
      page(visitor: Visitor, request: ListQuery<Activity>): Json {
        const rows = state.activity.of(visitor).flatMap((row, k) => {
          const isLate = state.clock() - row.at < changes.delayOf('activity', visitor.index, k)
          return isLate ? [] : [shown.activity(visitor, row, k)]
        })
        const sorted = byTime(rows, (row) => row.at - changes.zone)
        return listPage(sorted, request, s['activity.order'], s, wire.activity)
      },
      current: (visitor: Visitor, row: Activity, k: number) =>
        wire.activity(shown.activity(visitor, row, k)),
    },
    recording: wire.recording,
    /** Null: a 404. */
    currentRecording: (call: PhoneCall) =>
      call.recordedAt === null && s['recordings.none'] === '404'
        ? null
        : wire.recording(calls.show(call)),
    availability(now: EpochMs): Json {
      const agentsOnline = state.seedData.random(purposes.agent, 0, Math.floor(now / 60_000)) % 5
      return { projectId, available: agentsOnline > 0, agentsOnline }
    },
    note: wire.note,
  }
}

/** By which they may be ordered. */
const listTimes = {
  conversations: ['createdAt', 'lastMessageAt', 'updatedAt'],
  visitors: ['createdAt', 'lastSeenAt', 'updatedAt'],
  calls: ['startedAt', 'endedAt'],
} as const

/** Rows at the same time stay in their order. */
function byTime<T>(rows: T[], timeOf: (row: T) => EpochMs): Sequence<T> {
  rows.sort((a, b) => timeOf(a) - timeOf(b))
  const rowAt = (k: number) => {
    const row = rows[k]
    if (row === undefined) throw new Error(`there is no row ${k}`)
    return row
  }
  return { length: rows.length, timeAt: (k) => timeOf(rowAt(k)), rowAt }
}

const rowKinds = ['conversations', 'visitors', 'calls', 'messages', 'activity'] as const
type RowKind = (typeof rowKinds)[number]

/** Parses a comma-separated list of row kinds. Throws RangeError for others. */
export function parseRowKinds(list: string): readonly RowKind[] {
  return parseNames(
    list,
    rowKinds,
    (name) => `there are no rows ${name}; there are ${rowKinds.join(', ')}`,
  )
}

/** Rows with other times, without the one that orders their list, or late. */
function createTimeChanges({ seedData: { random } }: ProjectState, s: Switches) {
  /** A share of the rows of some kinds. `a` and `b` identify the row within its kind. */
  const createSample = (name: 'misdated' | 'undated' | 'late') => {
    const share = s[`${name}.share`]
    const kinds = parseRowKinds(s[`${name}.of`])
    const affects = (kind: RowKind) => share > 0 && kinds.includes(kind)
    const has = (kind: RowKind, a: number, b = 0) =>
      affects(kind) &&
      toUnitInterval(random(purposes[name], a, rowKinds.indexOf(kind) + 8 * b)) < share
    return { affects, has }
  }
  const misdated = createSample('misdated')
  const undated = createSample('undated')
  const late = createSample('late')
  const zone: Ms = s['rows.zone'] * 3_600_000
  const common: Ms = s['rows.offset'] * 1000 + zone
  const delay: Ms = s['late.seconds'] * 1000
  const misdatedBy = (kind: RowKind, a: number, b?: number): Ms =>
    misdated.has(kind, a, b) ? s['misdated.seconds'] * 1000 : 0
  return {
    /** Whether any row has another time. */
    shift:
      zone !== 0 ||
      s['rows.offset'] !== 0 ||
      s['reply.seconds'] !== 0 ||
      rowKinds.some((kind) => misdated.affects(kind) || undated.affects(kind)),
    /** Included in the offsets, but lists are ordered without it. */
    zone,
    misdatesMessages: misdated.affects('messages'),
    misdatedBy,
    offsetOf: (kind: RowKind, index: number): Ms => common + misdatedBy(kind, index),
    isUndated: undated.has,
    delay: (kind: RowKind) => delay > 0 && late.affects(kind),
    delayOf: (kind: RowKind, a: number, b?: number): Ms => (late.has(kind, a, b) ? delay : 0),
  }
}

/** Single rows as the service shows them, whether late or not. */
function createDisplay(
  state: ProjectState,
  s: Switches,
  changes: ReturnType<typeof createTimeChanges>,
) {
  const message = (conversation: Conversation, row: Message): Message => {
    const offset =
      changes.offsetOf('conversations', conversation.index) + changes.misdatedBy('messages', row.id)
    const replyOffset: Ms = row.reply ? s['reply.seconds'] * 1000 : 0
    return shiftTimes(row.reply ? alterReply(row, s) : row, ['createdAt'], offset + replyOffset)
  }
  const lastMessageAt = (row: Conversation): EpochMs => {
    const times = state.messages.of(row).map((entry) => message(row, entry).createdAt)
    const last =
      s['misdated.last'] === 'latest' ? times.at(-1) : times.reduce((a, b) => Math.max(a, b), 0)
    return last ?? row.lastMessageAt
  }
  const showsOtherLast =
    s['misdated.last'] !== 'real' && (changes.misdatesMessages || s['reply.seconds'] !== 0)
  const conversationTimes = [
    'createdAt',
    'updatedAt',
    'lastMessageAt',
    'handledAt',
    'waitingSince',
  ] as const
  return {
    message,
    conversation(row: Conversation): Conversation {
      const offset = changes.offsetOf('conversations', row.index)
      const shown = shiftTimes(row, conversationTimes, offset)
      return showsOtherLast ? { ...shown, lastMessageAt: lastMessageAt(row) } : shown
    },
    visitor: (row: Visitor): Visitor =>
      shiftTimes(
        row,
        ['createdAt', 'lastSeenAt', 'updatedAt'],
        changes.offsetOf('visitors', row.index),
      ),
    call: (row: PhoneCall): PhoneCall =>
      shiftTimes(row, ['startedAt', 'endedAt', 'recordedAt'], changes.offsetOf('calls', row.index)),
    activity(visitor: Visitor, row: Activity, k: number): Activity {
      const offset =
        changes.offsetOf('visitors', visitor.index) +
        changes.misdatedBy('activity', visitor.index, k)
      return shiftTimes(row, ['at'], offset)
    },
  }
}

/** A time that is null stays null. */
function shiftTimes<Time extends string, T extends Readonly<Record<Time, EpochMs | null>>>(
  row: T,
  times: readonly Time[],
  offset: Ms,
): T {
  if (offset === 0) return row
  const shifted = times.map((time) => [time, row[time] === null ? null : row[time] + offset])
  return { ...row, ...Object.fromEntries(shifted) }
}

function alterReply(message: Message, s: Switches): Message {
  const { 'reply.sender': senderType, 'reply.kind': kind } = s
  const content = textAlterations[s['reply.text']](message.content)
  const senderDisplayName = nameAlterations[s['reply.name']](message.senderDisplayName)
  return { ...message, senderType, kind, content, senderDisplayName }
}

const textAlterations: Record<Switches['reply.text'], (text: string) => string> = {
  'as-sent': (text) => text,
  trimmed: (text) => text.trim().replace(/\s+/g, ' '),
  escaped: (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll("'", '&#39;'),
  shortened: (text) => `${text.slice(0, Math.ceil(text.length / 3))}…`,
  signed: (text) => `${text}\n\nSent from the help desk`,
  translated: (text) =>
    [...text]
      .map((letter) => String.fromCodePoint(0x3041 + ((letter.codePointAt(0) ?? 0) % 80)))
      .join(''),
  redacted: () => '[removed]',
}

const nameAlterations: Record<Switches['reply.name'], (name: string) => string> = {
  'as-sent': (name) => name,
  extended: (name) => `${name} (Support)`,
  team: () => 'Customer Care',
  empty: () => '',
}
