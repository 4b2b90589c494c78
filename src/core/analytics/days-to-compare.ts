/** How many days of the service's rollups are compared with our own counts, which hold what happened on them in memory. Pure. */

/** So many fit beside all else that a sync holds. */
const maxMessages = 200_000
/** Two weeks prove a definition; some of their numbers may be missing. */
const fewestDays = 21

/** `days`: final ones. `messages`: on all of them. */
export function daysToCompare(days: number, messages: number): number {
  if (messages <= maxMessages) return days
  return Math.min(days, Math.max(fewestDays, Math.floor((days * maxMessages) / messages)))
}
