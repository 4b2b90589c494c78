/**
 * A synthetic project of two years as rows of the mirror, in batches: half of its history was
 * watched as it happened.
 */
import {
  agentCount,
  intBetween,
  pick,
  type RandomSource,
  type SyntheticConversation,
  synthesizeConversation,
} from './synthetic-conversation.ts'

export type Value = string | number | boolean | null

/** Rows of one table; every row has the values of `columns`, in that order. */
export type TableBatch = {
  readonly table: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Value[])[]
}

export const benchProject = '7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f'

const startsAt = Date.UTC(2024, 0, 1) / 1000
const endsAt = Date.UTC(2026, 0, 1) / 1000
const mirroredSince = Date.UTC(2025, 0, 1) / 1000
const batchConversations = 1000
const daySeconds = 86_400

/** The last 90 days of the project: what a dashboard is filtered to. */
export const dashboardDays = { from: '2025-10-03', to: '2026-01-01' } as const

const timeText = (at: number) => `${new Date(at * 1000).toISOString().slice(0, 19)}Z`

/** About 20 messages in each conversation. */
export function* synthesizeProject(
  conversations: number,
  random: RandomSource,
): Generator<TableBatch> {
  const visitors = Array.from({ length: Math.max(10, Math.floor(conversations * 0.4)) }, () =>
    newUuid(random),
  )
  const counts = { requests: 1, rows_read: 1, rows_changed: 1, strings_escaped: 0, beat_at: 0 }
  const run = {
    id: firstRun,
    mode: 'full',
    started_at: timeText(mirroredSince),
    finished_at: timeText(mirroredSince),
  }
  yield toBatch('sync_runs', [{ project_id: benchProject, ...run, outcome: 'complete', ...counts }])
  yield toBatch(
    'visitors',
    visitors.map((id, n) => toVisitor(id, n, random)),
  )
  let nextMessageId = 1
  for (let from = 0; from < conversations; from += batchConversations) {
    const made = Array.from({ length: Math.min(batchConversations, conversations - from) }, () => {
      const conversation = synthesizeConversation(randomDemand(random), endsAt, random)
      const id = newUuid(random)
      const firstMessageId = nextMessageId
      nextMessageId += conversation.messages.length
      return {
        id,
        visitor: pick(visitors, random),
        firstMessageId,
        conversation,
        isDeleted: random() < 0.004,
      }
    })
    yield toBatch(
      'conversations',
      made.map((one) => toConversationRow(one, random)),
    )
    yield toBatch(
      'message_rows',
      made.flatMap((one) => toMessageRows(one, random)),
    )
    const changes = made.flatMap(toChangeRows)
    if (changes.length > 0) yield toBatch('conversation_changes', changes)
    yield toBatch(
      'visitor_activity',
      Array.from({ length: 6 * made.length }, () => toEntry(pick(visitors, random), random)),
    )
  }
  yield* synthesizeSnapshots(conversations, random)
}

type Made = {
  readonly id: string
  readonly visitor: string
  readonly firstMessageId: number
  readonly conversation: SyntheticConversation
  readonly isDeleted: boolean
}

type Row = Readonly<Record<string, Value>>

function toBatch(table: string, rows: readonly Row[]): TableBatch {
  const columns = Object.keys(rows[0] ?? {})
  return { table, columns, rows: rows.map((row) => columns.map((column) => row[column] ?? null)) }
}

const firstRun = '00000000-0000-7000-8000-000000000001'

const mirroredRow = (raw: object): Row => ({
  project_id: benchProject,
  raw: JSON.stringify(raw),
  synced_at: timeText(endsAt),
  run_id: firstRun,
  asked_at: endsAt * 1000,
})

function toConversationRow(
  { id, visitor, conversation, isDeleted }: Made,
  random: RandomSource,
): Row {
  const { createdAt, handledAt, messages, agent, origin } = conversation
  const last = messages.at(-1)
  const columns = {
    id,
    visitor_id: visitor,
    status: 'open',
    created_at: timeText(createdAt),
    last_message_at: last === undefined ? null : timeText(last.at),
    last_message_sender_type: last?.sender ?? null,
    handled_at: handledAt === null ? null : timeText(handledAt),
    waiting_since: handledAt === null && last?.sender === 'visitor' ? timeText(last.at) : null,
    assigned_agent_id: random() < 0.8 ? `agent-${agent}` : null,
    origin,
  }
  const messages_complete = random() < 0.99
  return {
    ...mirroredRow(columns),
    ...columns,
    messages_complete,
    deleted_at: isDeleted ? timeText(endsAt) : null,
  }
}

function toMessageRows(
  { id, conversation, firstMessageId, isDeleted }: Made,
  random: RandomSource,
): Row[] {
  return conversation.messages.map(({ sender, kind, name, at }, index) => {
    const columns = {
      conversation_id: id,
      id: firstMessageId + index,
      sender_type: sender,
      kind,
      content: kind === 'utterance' ? randomText(intBetween(3, 30, random), random) : kind,
      sender_display_name: name,
      created_at: timeText(at),
    }
    // The columns have all of it.
    return { ...mirroredRow({}), ...columns, deleted_at: isDeleted ? timeText(endsAt) : null }
  })
}

const syncEverySeconds = 240

/** Changes that were seen, some minutes late, since the mirror began. */
function toChangeRows({ id, conversation }: Made): Row[] {
  const { handledAt, reopening } = conversation
  const seen: { readonly old: number | null; readonly new: number | null; readonly at: number }[] =
    []
  if (reopening !== null) {
    seen.push({ old: null, new: reopening.handledAt, at: reopening.handledAt + 120 })
    seen.push({ old: reopening.handledAt, new: null, at: reopening.reopenedAt + 120 })
  }
  if (handledAt !== null) seen.push({ old: null, new: handledAt, at: handledAt + 120 })
  const ofFlag = seen.filter(({ at }) => at >= mirroredSince)
  const lastMessageBefore = (time: number) =>
    conversation.messages.findLast(({ at }) => at <= time)?.at ?? null
  // What the readings showed beside the flag, and the message that came after the last one.
  const readings = [...ofFlag.map(({ at }) => at), ...(ofFlag.length > 0 ? [endsAt] : [])]
  const ofMessages = readings.map((at, index) => ({
    old: lastMessageBefore(
      index === readings.length - 1 ? (ofFlag.at(-1)?.at ?? at) : at - syncEverySeconds,
    ),
    new: lastMessageBefore(at),
    at,
  }))
  const toRow = (field: string) => (change: (typeof seen)[number], index: number) => ({
    project_id: benchProject,
    id: `${change.at}-${id}-${field}-${index}`,
    conversation_id: id,
    field,
    old_value: change.old === null ? null : timeText(change.old),
    new_value: change.new === null ? null : timeText(change.new),
    seen_at: timeText(change.at),
    old_read_at: timeText(change.at - syncEverySeconds),
  })
  const isChange = (change: (typeof seen)[number]) => change.old !== change.new
  return [
    ...ofFlag.map(toRow('handled_at')),
    ...ofMessages.filter(isChange).map(toRow('last_message_at')),
  ]
}

function toVisitor(id: string, n: number, random: RandomSource): Row {
  const columns = {
    id,
    name: `Visitor ${n}`,
    email: n % 3 === 0 ? null : `visitor-${n}@example.com`,
  }
  return {
    ...mirroredRow({ ...columns, country: pick(['DE', 'US', 'FR', 'GB'], random) }),
    ...columns,
  }
}

function toEntry(visitor: string, random: RandomSource): Row {
  const occurred_at = timeText(intBetween(startsAt, endsAt, random))
  const url = `/${pick(['pricing', 'docs', 'checkout', 'help', 'account'], random)}`
  const columns = { visitor_id: visitor, entry_hash: newUuid(random), ordinal: 0, occurred_at }
  return { ...mirroredRow({ type: 'page_view', url, timestamp: occurred_at }), ...columns }
}

/** One each five minutes since the mirror began; for small projects only for some days. */
function* synthesizeSnapshots(conversations: number, random: RandomSource): Generator<TableBatch> {
  const from = conversations >= 10_000 ? mirroredSince : endsAt - 3 * daySeconds
  for (let day = from; day < endsAt; day += daySeconds) {
    const times = Array.from({ length: daySeconds / 300 }, (_, n) => day + 300 * n)
    yield toBatch(
      'availability_snapshots',
      times.map((at) => toSnapshot(at, random)),
    )
  }
}

function toSnapshot(at: number, random: RandomSource): Row {
  const hour = new Date(at * 1000).getUTCHours()
  const agents_online = hour >= 7 && hour < 19 ? intBetween(1, agentCount, random) : 0
  const columns = { available: agents_online > 0, agents_online }
  return { ...mirroredRow(columns), ...columns, read_at: timeText(at) }
}

/** Most at noon, little at night and on weekends. */
function randomDemand(random: RandomSource): number {
  const hourWeights = [
    1, 1, 1, 1, 1, 2, 5, 10, 16, 20, 20, 18, 15, 17, 18, 17, 15, 11, 8, 6, 5, 4, 3, 2,
  ]
  for (;;) {
    const at = intBetween(startsAt, endsAt - 3600, random)
    const date = new Date(at * 1000)
    const isWeekend = date.getUTCDay() === 0 || date.getUTCDay() === 6
    const weight = (hourWeights[date.getUTCHours()] ?? 0) * (isWeekend ? 0.3 : 1)
    if (random() * 20 < weight) return at
  }
}

const words =
  'the order has not arrived yet could you please check what happened with my invoice and refund thanks a lot for your quick help today our system shows that it left yesterday'.split(
    ' ',
  )

const randomText = (length: number, random: RandomSource) =>
  Array.from({ length }, () => pick(words, random)).join(' ')

function newUuid(random: RandomSource): string {
  const hex = Array.from({ length: 4 }, () =>
    Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0'),
  ).join('')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`
}
