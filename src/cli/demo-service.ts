/** The service of the demo: a small world in a service double, and what happens in it between the two passes. */
import { rfc3339 } from '../core/time.ts'
import { type Sandbox, startSandbox } from '../sandbox/sandbox.ts'

/** Few enough for the usual rate limit to let the first pass through in some seconds. */
const size = {
  conversations: 80,
  visitors: 40,
  calls: 20,
  messagesPerConversation: [1, 20],
  activityPerVisitor: [0, 8],
  days: 10,
} as const

export function startService(now: number): Promise<Sandbox> {
  return startSandbox({
    seed: 2,
    size,
    now: rfc3339(Math.floor(now / 1000)),
    prefix: '/v1',
    switches: { content: 'plain' },
  })
}

/** Makes the changes, and says what they are. */
export function aMinuteOfWork({ mutate, truth }: Sandbox): readonly string[] {
  const conversations = [...truth('conversations')].flatMap(({ id }) => id ?? [])
  const visitors = [...truth('visitors')].flatMap(({ id }) => id ?? [])
  const [first = '', second = '', third = ''] = conversations
  const newcomer = mutate.addVisitor({ name: 'Ada Lovelace', email: 'ada@example.com' })
  mutate.addConversation(newcomer.id, 'Can your engine also compose music?')
  mutate.visitorWrites(first, 'Is there any news?')
  mutate.agentReplies(second, 'It is on its way.', 'Robin')
  mutate.setHandled(third, true)
  mutate.renameVisitor(visitors[0] ?? '', 'Grace Hopper', 'grace@example.com')
  mutate.addCall(newcomer.id)
  return [
    'a new visitor starts a conversation, and calls',
    'another visitor asks again',
    'an agent replies, and marks a different conversation handled',
    'a visitor is renamed',
  ]
}
