/**
 * One synthetic conversation with a support team: who wrote what and when, and when it was handled
 * and reopened.
 */

export type Speaker = 'visitor' | 'agent' | 'ai' | 'system'

export type SyntheticMessage = {
  readonly sender: Speaker
  readonly kind: string
  readonly name: string
  /** Seconds since 1970. */
  readonly at: number
}

export type SyntheticConversation = {
  readonly createdAt: number
  readonly origin: string
  readonly agent: number
  readonly messages: readonly SyntheticMessage[]
  readonly handledAt: number | null
  /** Handled once before, and reopened. */
  readonly reopening: { readonly handledAt: number; readonly reopenedAt: number } | null
}

export type RandomSource = () => number

const agentNames = 'Anna Ben Chloe Dario Eva Finn Greta Hugo Ines Jonas Kira Liam'.split(' ')
export const agentCount = agentNames.length
const nameOf = (agent: number) => `${agentNames[agent]} ${String.fromCharCode(65 + agent)}.`

const visitorInitiated = 'visitor_initiated'
const origins = [
  visitorInitiated,
  visitorInitiated,
  visitorInitiated,
  visitorInitiated,
  'agent_initiated',
  'email',
]
const eventKinds = ['conversation_assigned', 'csat_requested', 'agent_left']

const hourSeconds = 3600

/** `until`: no message is later. */
export function synthesizeConversation(
  createdAt: number,
  until: number,
  random: RandomSource,
): SyntheticConversation {
  const origin = pick(origins, random)
  const agent = intBetween(0, agentCount - 1, random)
  const messages = converse(createdAt, until - 2 * hourSeconds, origin, agent, random)
  const lastAt = messages.at(-1)?.at ?? createdAt
  const isHandled = random() < 0.87 && lastAt + 5 * hourSeconds < until
  const handledAt = isHandled ? lastAt + intBetween(60, 5 * hourSeconds, random) : null
  const reopening = handledAt !== null && random() < 0.09 ? findPause(messages, random) : null
  return { createdAt, origin, agent, messages, handledAt, reopening }
}

/**
 * The AI answers in seconds, until it hands over to a human or solves the question; humans take
 * minutes, or a night.
 */
function converse(
  createdAt: number,
  until: number,
  origin: string,
  agent: number,
  random: RandomSource,
): SyntheticMessage[] {
  const messages: SyntheticMessage[] = []
  const substitute = random() < 0.12 ? intBetween(0, agentCount - 1, random) : agent
  const length = random() < 0.05 ? 1 : intBetween(6, 36, random)
  const isAiSolving = random() < 0.2
  const isByAgent = origin === 'agent_initiated'
  let hasHuman = isByAgent || random() < 0.45
  let at = createdAt
  let speaker = (isByAgent ? 'agent' : 'visitor') as Speaker
  const say = (sender: Speaker, kind = 'utterance') => {
    const name = {
      visitor: 'Visitor',
      agent: nameOf(random() < 0.9 ? agent : substitute),
      ai: 'Assistant',
      system: '',
    }
    messages.push({ sender, kind, name: name[sender], at })
    if (sender !== 'system') speaker = sender
  }
  say(speaker)
  while (messages.length < length && at < until) {
    const choice = random()
    if (speaker === 'visitor' && choice < 0.32) {
      at += intBetween(2, 90, random)
      say('visitor')
    } else if (speaker === 'visitor' && !hasHuman) {
      at += intBetween(2, 15, random)
      say('ai')
      hasHuman = !isAiSolving && messages.length > 3 && random() < 0.4
      if (hasHuman) say('system', 'transfer')
    } else if (speaker === 'visitor' || (speaker === 'ai' && hasHuman && choice < 0.6)) {
      at += humanDelay(at, random)
      say('agent')
    } else if (choice < 0.25) {
      at += intBetween(5, 120, random)
      say(speaker)
    } else if (choice < 0.3) {
      at += intBetween(5, 120, random)
      say('system', pick(eventKinds, random))
    } else {
      at += intBetween(10, 1800, random)
      say('visitor')
    }
  }
  return messages
}

/** Around five minutes; at night sometimes until the morning. */
function humanDelay(at: number, random: RandomSource): number {
  const spread = (random() + random() + random() - 1.5) * 2.2
  const hour = new Date(at * 1000).getUTCHours()
  const night = hour > 18 || hour < 6 ? intBetween(0, 8 * hourSeconds, random) : 0
  return Math.max(3, Math.floor(300 * Math.exp(spread))) + night
}

/** Handled right after one of the first messages, until the next message. */
function findPause(
  messages: readonly SyntheticMessage[],
  random: RandomSource,
): SyntheticConversation['reopening'] {
  const index = intBetween(1, Math.max(1, messages.length - 2), random)
  const before = messages[index - 1]
  const after = messages[index]
  if (before === undefined || after === undefined || after.at <= before.at + 1) return null
  return { handledAt: before.at + 1, reopenedAt: after.at }
}

/** Both bounds included. */
export function intBetween(from: number, to: number, random: RandomSource): number {
  return from + Math.floor(random() * (to - from + 1))
}

export function pick<T>(choices: readonly T[], random: RandomSource): T {
  return choices[Math.floor(random() * choices.length)] as T
}
