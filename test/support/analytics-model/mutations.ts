/** Random changes of a world: what later syncs bring. */
import { type RandomChoices, seededChoices } from './random-choices.ts'
import { handleAndReopen, recordChange } from './random-conversation.ts'
import type { ModelWorld } from './random-world.ts'
import { type ProjectRows, type RawConversation, seconds, toTime } from './raw-rows.ts'

/** What has to be refreshed. */
export type Touched = {
  readonly project: string
  readonly conversations: Set<string>
  readonly visitors: Set<string>
  /** Times of new snapshots. */
  readonly snapshots: string[]
}

/** Another world; the given one stays as it is. */
export function mutateWorld(
  world: ModelWorld,
  step: number,
): { readonly world: ModelWorld; readonly touched: readonly Touched[] } {
  const random = seededChoices(world.seed + step * 1_000_003)
  const changed = structuredClone(world)
  const touched = changed.projects.map((rows) => mutateProject(rows, changed.around, step, random))
  return { world: changed, touched }
}

function mutateProject(
  rows: ProjectRows,
  around: number,
  step: number,
  random: RandomChoices,
): Touched {
  const touched: Touched = {
    project: rows.project,
    conversations: new Set(),
    visitors: new Set(),
    snapshots: [],
  }
  if (rows.conversations.length > 0) {
    for (let count = random.int(0, 3); count > 0; count--) {
      const conversation = random.pick(rows.conversations)
      random.pick(conversationMutations)(conversation, rows, random, around)
      touched.conversations.add(conversation.id)
    }
  }
  if (random.chance(0.3)) touched.visitors.add(addActivity(rows, around, step, random))
  if (random.chance(0.3)) touched.snapshots.push(...addSnapshot(rows, random))
  return touched
}

type ConversationMutation = (
  conversation: RawConversation,
  rows: ProjectRows,
  random: RandomChoices,
  around: number,
) => void

/** Twice as likely: what happens most. */
const conversationMutations: readonly ConversationMutation[] = [
  (conversation, rows, random, around) => handleAndReopen(conversation, around, rows, random),
  addMessage,
  addMessage,
  editMessage,
  deleteOrRestoreMessage,
  deleteOrRestore,
  (conversation, _rows, { pick }) => {
    conversation.messages_complete = pick([true, false, null])
  },
  (conversation, rows, { pick }, around) => {
    const agent = pick(['agent-1', 'agent-2', null])
    recordChange(
      conversation,
      'assigned_agent_id',
      agent,
      around + 600_000 + rows.changes.length,
      rows,
    )
    conversation.assigned_agent_id = agent
  },
]

const messagesOf = ({ id }: RawConversation, { messages }: ProjectRows) =>
  messages.filter(({ conversation_id }) => conversation_id === id)

/** Sometimes the message is late: earlier than others that are known. */
function addMessage(
  conversation: RawConversation,
  rows: ProjectRows,
  { int, pick }: RandomChoices,
  around: number,
): void {
  const messages = messagesOf(conversation, rows)
  const times = messages.map(({ created_at }) => created_at).filter((time) => time !== null)
  rows.messages.push({
    conversation_id: conversation.id,
    id: Math.max(2000, ...messages.map(({ id }) => id)) + 1,
    sender_type: pick(['visitor', 'agent', 'ai']),
    kind: 'utterance',
    sender_display_name: 'Anna',
    created_at: toTime(Math.max(around, ...times.map(seconds)) + int(-5000, 5000)),
    deleted_at: conversation.deleted_at,
  })
}

function editMessage(
  conversation: RawConversation,
  rows: ProjectRows,
  { pick }: RandomChoices,
): void {
  const messages = messagesOf(conversation, rows)
  if (messages.length === 0) return
  const message = pick(messages)
  message.sender_type = pick(['visitor', 'agent', 'stranger'])
  message.sender_display_name = pick(['Anna', 'Chloe'])
}

function deleteOrRestoreMessage(
  conversation: RawConversation,
  rows: ProjectRows,
  { pick }: RandomChoices,
): void {
  const messages = messagesOf(conversation, rows)
  if (messages.length === 0 || conversation.deleted_at !== null) return
  const message = pick(messages)
  message.deleted_at = message.deleted_at === null ? '2025-12-02T00:00:00Z' : null
}

function deleteOrRestore(conversation: RawConversation, rows: ProjectRows): void {
  conversation.deleted_at = conversation.deleted_at === null ? '2025-12-02T00:00:00Z' : null
  for (const message of messagesOf(conversation, rows)) message.deleted_at = conversation.deleted_at
}

/** Returns the visitor. */
function addActivity(
  rows: ProjectRows,
  around: number,
  step: number,
  { int, pick }: RandomChoices,
): string {
  const visitor = pick(['visitor-1', 'visitor-2', 'visitor-3'])
  const occurred_at = toTime(around + int(-90_000, 90_000))
  const entry = {
    visitor_id: visitor,
    entry_hash: `late-${step}`,
    ordinal: 0,
    occurred_at,
    deleted_at: null,
  }
  rows.activity.push({ ...entry, page: pick([null, '/late']) })
  return visitor
}

/**
 * Snapshots are only ever newer than all others. Returns the time of the new one, if there is one.
 */
function addSnapshot(rows: ProjectRows, { int, pick }: RandomChoices): string[] {
  const last = rows.snapshots.at(-1)
  if (last === undefined) return []
  const read_at = toTime(seconds(last.read_at) + pick([60, 599, 1800, 3600]))
  rows.snapshots.push({ read_at, available: true, agents_online: int(0, 4) })
  return [read_at]
}
