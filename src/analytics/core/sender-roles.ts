/** Who the senders of messages are: their types are not documented, so names are interpreted. */
import type { AnalyticsSettings, SenderRole } from '../../config/analytics-settings.ts'

const aiWords = new Set(
  'ai aiagent aiassistant assistant automation bot chatbot copilot llm robot virtualagent voicebot'.split(
    ' ',
  ),
)
const visitorWords =
  'buyer caller client consumer contact customer enduser guest lead prospect requester ' +
  'shopper user visitor'
const humanWords = `admin administrator advisor agent employee human humanagent member moderator operator owner rep
  representative specialist staff support supporter supportagent team teammate`
const roleWords: ReadonlyMap<string, SenderRole> = new Map([
  ...visitorWords.split(/\s+/).map((word): [string, SenderRole] => [word, 'visitor']),
  ...humanWords.split(/\s+/).map((word): [string, SenderRole] => [word, 'human']),
])

/**
 * Gives the role of an utterance by its sender type. Case and separators make no difference, neither
 * to the guesses nor to `overrides`.
 */
export function createRoleOfSender(
  overrides: AnalyticsSettings['roles'],
): (senderType: string | null) => SenderRole {
  const configured = new Map(
    Object.entries(overrides).map(([senderType, role]) => [compact(senderType), role]),
  )
  const known = new Map<string | null, SenderRole>([[null, 'other']])
  return (senderType) => {
    const found = known.get(senderType)
    if (found !== undefined) return found
    const role = configured.get(compact(senderType ?? '')) ?? guessRole(senderType ?? '')
    known.set(senderType, role)
    return role
  }
}

/** What analysts see of the roles. */
export function senderTypeRows(
  senderTypes: readonly string[],
  overrides: AnalyticsSettings['roles'],
) {
  const roleOf = createRoleOfSender(overrides)
  return senderTypes.map((sender_type) => ({ sender_type, role: roleOf(sender_type) }))
}

/** AI with any of its words; else the last known word decides: `customer_support_agent`. */
function guessRole(senderType: string): SenderRole {
  const parts = [...separateWords(senderType), compact(senderType)]
  if (parts.some((part) => aiWords.has(part))) return 'ai'
  return parts.map((part) => roleWords.get(part)).findLast((role) => role !== undefined) ?? 'other'
}

/** `AIAgent` → `ai agent`, `support_bot` → `support bot`. */
function separateWords(name: string): string[] {
  return name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\d]+/)
}

function compact(name: string): string {
  return name.toLowerCase().replace(/[^a-z\d]+/g, '')
}
