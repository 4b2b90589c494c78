/** Which side wrote a message, by its sender type, of which only `agent` is documented. */

export type MessageSide = 'team' | 'visitor' | 'unknown'

/** In lower case. Where a message matters only if the team did not write it, an unknown sender counts as a visitor. */
export const teamSenderTypes = [
  ...['agent', 'human_agent', 'ai', 'ai_agent', 'assistant', 'bot'],
  ...['system', 'automation', 'operator', 'team', 'workflow'],
] as const

const visitorPattern = /^(visitor|customer|user|end_?user|contact|guest|lead|client)$/

export function toMessageSide(senderType: unknown): MessageSide {
  const name = String(senderType ?? '').toLowerCase()
  if (teamSenderTypes.some((type) => type === name)) return 'team'
  return visitorPattern.test(name) ? 'visitor' : 'unknown'
}
