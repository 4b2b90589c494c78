/** Which messages of a thread may be a reply whose outcome is not known. Pure: for a person who looks, not for a decision. */

/** Clocks of two machines may differ by this much. */
const clockToleranceMs = 120_000

export function matchesReply(
  message: { readonly text: string | null; readonly at: string | null },
  reply: { readonly content: string; readonly sentAt: string | null },
): boolean {
  if (message.text === null || normalize(message.text) !== normalize(reply.content)) return false
  if (message.at === null || reply.sentAt === null) return true
  return Date.parse(message.at) >= Date.parse(reply.sentAt) - clockToleranceMs
}

/** The service may trim white space, and compose letters and their marks. */
function normalize(text: string): string {
  return text.normalize('NFC').replace(/\s+/g, ' ').trim()
}
