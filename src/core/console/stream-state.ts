/** The one word for how a stream is doing, derived from one set of facts. Numbers stand beside it on every page. */
import { describeFailure } from '../api-failure.ts'
import type { StreamName } from '../stream-specs.ts'
import type { EpochMs, Ms } from '../time.ts'

export type StreamFacts = {
  readonly stream: StreamName
  /** When it was last read to its end; null = never. */
  readonly syncedAt: string | null
  /** The scope that the key lacks. */
  readonly skipped: string | null
  /** Why the last sync failed, and since when every one has. */
  readonly failed: string | null
  readonly failedSince: string | null
  /** A process is syncing it now. */
  readonly isRunning: boolean
}

/** `maxAgeMs`: how old the schedule lets it become; null = it has none, or nobody runs it. */
export type Expectation = { readonly maxAgeMs: Ms | null }

export const streamStates = ['fresh', 'late', 'failing', 'skipped', 'running', 'unread', 'read'] as const
/** `read`: nobody promises when it is read again, so it is neither fresh nor late. */
export type StreamState = (typeof streamStates)[number]

/** The failure text of a stream whose sync was interrupted; it has not failed. */
const interrupted = describeFailure({ kind: 'aborted' })

export function streamStateOf(facts: StreamFacts, { maxAgeMs }: Expectation, now: EpochMs): StreamState {
  if (facts.failed !== null && facts.failed !== interrupted) return 'failing'
  if (facts.skipped !== null) return 'skipped'
  if (facts.syncedAt === null) return facts.isRunning ? 'running' : 'unread'
  if (maxAgeMs === null) return 'read'
  const isLate = now - Date.parse(facts.syncedAt) > maxAgeMs
  if (!isLate) return 'fresh'
  return facts.isRunning ? 'running' : 'late'
}
