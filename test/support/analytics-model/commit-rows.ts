/**
 * Brings the rows of a project into a mirror by the mirror's own commits: conversations as they
 * looked each time, their messages in two reads, of which the first shows some as they were before
 * an edit. Deletions are found at the end.
 */

import type { MirrorRow } from '../../../schema/row.ts'
import type { MirrorCommit } from '../../../src/mirror/core/mirror.ts'
import type { Mirror } from '../../../src/mirror/sql/mirror.ts'
import type { Scalar } from '../../../src/values/json.ts'
import { stored } from '../stored-items.ts'
import type { RandomChoices } from './random-choices.ts'
import {
  type ChangeRow,
  type MessageRow,
  type ProjectRows,
  type RawConversation,
  seconds,
} from './raw-rows.ts'

/** One thing that a sync stores. They may run in any order, if those of one list stay in theirs. */
export type Arrival = () => Promise<unknown>

type Writes = Pick<Mirror, 'commit'>

/**
 * What the service no longer lists is never read, so messages that were deleted alone are left out
 * of `rows`.
 */
export function withoutDeletedRows(rows: ProjectRows): ProjectRows {
  const deleted = new Set(
    rows.conversations.filter(({ deleted_at }) => deleted_at !== null).map(({ id }) => id),
  )
  return {
    ...rows,
    messages: rows.messages.filter(
      ({ deleted_at, conversation_id }) => deleted_at === null || deleted.has(conversation_id),
    ),
    activity: rows.activity.filter(({ deleted_at }) => deleted_at === null),
  }
}

/** In random order, but for what one conversation or visitor, or the availability, brings. */
export function arrivalsOf(rows: ProjectRows, mirror: Writes, random: RandomChoices): Arrival[] {
  const lists = [
    ...rows.conversations.map((conversation) =>
      conversationArrivals(conversation, rows, mirror, random),
    ),
    ...rows.activity.map((entry) => [() => mirror.commit(activityCommit(entry))]),
    rows.snapshots.map((snapshot) => () => mirror.commit(availabilityCommit(snapshot))),
    rows.messages
      .filter(({ conversation_id }) => !rows.conversations.some(({ id }) => id === conversation_id))
      .map(
        (message) => () =>
          mirror.commit({ stream: 'messages', rows: [toMessage(message)], requestedAt: 1 }),
      ),
  ]
  const arrivals: Arrival[] = []
  for (;;) {
    const waiting = lists.filter(({ length }) => length > 0)
    if (waiting.length === 0) return arrivals
    arrivals.push(...random.pick(waiting).splice(0, 1))
  }
}

/** Later than all arrivals. */
export function deletionsOf(
  rows: ProjectRows,
  { markDeleted }: Pick<Mirror, 'markDeleted'>,
): Arrival[] {
  const at = Date.UTC(2026, 0, 1)
  const deleted = rows.conversations.filter(({ deleted_at }) => deleted_at !== null)
  return deleted.map(
    ({ id }) =>
      () =>
        markDeleted('conversations', id, at),
  )
}

function conversationArrivals(
  conversation: RawConversation,
  rows: ProjectRows,
  { commit }: Writes,
  random: RandomChoices,
): Arrival[] {
  const { id, messages_complete } = conversation
  const changes = rows.changes.filter((change) => change.conversation_id === id)
  const messages = random.shuffle(rows.messages.filter((message) => message.conversation_id === id))
  const looks = looksOf(conversation, changes).map((look) => () => commit(look))
  const firstRead = messages.slice(0, random.int(0, messages.length)).map(beforeEdit)
  const reads = [
    () => commit({ stream: 'messages', rows: firstRead.map(toMessage), requestedAt: 1 }),
    () => commit(lastRead(id, messages, messages_complete)),
  ]
  return [...looks.slice(0, 1), ...interleave(looks.slice(1), reads, random)]
}

/** Both keep their order. */
function interleave<T>(first: readonly T[], second: readonly T[], random: RandomChoices): T[] {
  const [next, ...rest] = first
  const [other, ...others] = second
  if (next === undefined) return [...second]
  if (other === undefined) return [...first]
  return random.chance(0.5)
    ? [next, ...interleave(rest, second, random)]
    : [other, ...interleave(first, others, random)]
}

/** The conversation as it was before its first change, and after each. */
function looksOf(conversation: RawConversation, changes: readonly ChangeRow[]): MirrorCommit[] {
  const firstValue = (field: 'handled_at' | 'last_message_at' | 'assigned_agent_id') => {
    const first = changes.find((change) => change.field === field)
    return first === undefined ? conversation[field] : first.old_value
  }
  let columns = {
    ...toColumns(conversation),
    handled_at: firstValue('handled_at'),
    last_message_at: firstValue('last_message_at'),
    assigned_agent_id: firstValue('assigned_agent_id'),
  }
  const looks = [toLook(columns, 1)]
  for (const [seenAt, ofOneCopy] of Map.groupBy(changes, ({ seen_at }) => seen_at)) {
    for (const { field, new_value } of ofOneCopy) columns = { ...columns, [field]: new_value }
    looks.push(toLook(columns, seconds(seenAt) * 1000))
  }
  return looks
}

function toColumns({ deleted_at: _, messages_complete: __, ...columns }: RawConversation) {
  return columns
}

const toLook = (columns: Columns, requestedAt: number): MirrorCommit => ({
  stream: 'conversations',
  rows: [toRow(columns)],
  requestedAt,
  isAuthoritative: true,
})

/** Null: the list has not been read to its end. */
function lastRead(
  parentId: string,
  messages: readonly MessageRow[],
  complete: boolean | null,
): MirrorCommit {
  const commit = { stream: 'messages', rows: messages.map(toMessage), requestedAt: 2 } as const
  if (complete === null) return commit
  const end = {
    requestedVersion: 1,
    cursor: null,
    completeness: complete ? 'complete' : 'incomplete',
    why: 'not listed',
    dueAt: null,
  } as const
  return { ...commit, childRead: { stream: 'messages', parentId, ...end } }
}

const beforeEdit = (message: MessageRow): MessageRow => ({
  ...message,
  sender_type: 'visitor',
  sender_display_name: '',
})

type Columns = Readonly<Record<string, Scalar>>

function toRow(columns: Columns, extra: Columns = {}): MirrorRow {
  const extraFields = new Map(
    Object.entries(extra).map(([name, value]) => [name, { value, isJsonText: false }]),
  )
  return { columns, extraFields, item: stored({ ...columns, ...extra }) }
}

const toMessage = ({ deleted_at: _, ...columns }: MessageRow): MirrorRow => toRow(columns)

function activityCommit({
  deleted_at: _,
  page,
  ...columns
}: ProjectRows['activity'][number]): MirrorCommit {
  return {
    stream: 'visitor_activity',
    rows: [toRow(columns, page === null ? {} : { url: page })],
    requestedAt: 1,
  }
}

const availabilityCommit = (snapshot: ProjectRows['snapshots'][number]): MirrorCommit => ({
  stream: 'availability',
  rows: [toRow(snapshot)],
  requestedAt: seconds(snapshot.read_at) * 1000,
})
