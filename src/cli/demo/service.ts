/** The demo's service: a small sandbox, and the changes between the two syncs. */
import { rfc3339 } from '../../core/time.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'

/** Small enough for the usual rate limit to allow the first sync in some seconds. */
const size = {
  conversations: 80,
  visitors: 40,
  calls: 20,
  messagesPerConversation: [1, 20],
  activityPerVisitor: [0, 8],
  days: 10,
} as const

export async function startDemoService(now: number): Promise<Sandbox> {
  // Loaded here so that other commands start faster.
  const { startSandbox } = await import('../../sandbox/sandbox.ts')
  return startSandbox({
    seed: 2,
    size,
    now: rfc3339(Math.floor(now / 1000)),
    prefix: '/v1',
    switches: { content: 'plain' },
  })
}

/** Makes the changes, and describes them. */
export function applyDemoChanges({ mutate, truth }: Sandbox): readonly string[] {
  const visitors = [...truth('visitors')].flatMap(({ id }) => id ?? [])
  const [open, handled] = conversationIds(truth('conversations'))
  const newcomer = mutate.addVisitor({ name: 'Ada Lovelace', email: 'ada@example.com' })
  mutate.addConversation(newcomer.id, 'Can your engine also compose music?')
  mutate.addCall(newcomer.id)
  for (const id of handled.slice(0, 1)) mutate.visitorWrites(id, 'Is there an update?')
  for (const id of open.slice(0, 1)) mutate.agentReplies(id, 'It is on its way.', 'Robin')
  for (const id of open.slice(1, 2)) mutate.setHandled(id, true)
  for (const id of visitors.slice(0, 1)) mutate.renameVisitor(id, 'Grace Hopper', 'grace@example.com')
  return [
    'a new visitor calls, and starts a conversation',
    'another one asks again in a conversation that was handled',
    'an agent replies in one conversation, and marks another one handled',
    'a visitor is renamed',
  ]
}

/** The ids of the open conversations, and of the handled ones. */
function conversationIds(rows: ReturnType<Sandbox['truth']>): readonly [readonly string[], readonly string[]] {
  const all = [...rows].map(({ id, row }) => ({ id: id ?? '', isOpen: Object(row).handledAt === null }))
  const ids = (isOpen: boolean) => all.filter((conversation) => conversation.isOpen === isOpen).map(({ id }) => id)
  return [ids(true), ids(false)]
}
