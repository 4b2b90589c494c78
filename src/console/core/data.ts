/** What the pages of the console show. Times are RFC 3339 text; lists are bounded by those who read them. */

import type { ServiceBehaviour } from '../../../schema/row.ts'
import type { StreamName } from '../../../schema/stream-specs.ts'
import type { FailureReport } from '../../maintenance/core/reports.ts'
import type { AuditEstimate } from '../../mirror/core/audit.ts'
import type { SyncMode, SyncOutcome } from '../../mirror/core/mirror.ts'
import type { GapReport } from '../../mirror/core/reports.ts'
import type { WritebackStatus } from '../../outbox/core/state.ts'
import type { Operation } from '../../outbox/core/writeback-request.ts'
import { describeFailure } from '../../service/core/api-failure.ts'
import type { BudgetData } from '../../service/core/budget-history.ts'
import type { EpochMs, Ms } from '../../values/time.ts'

/** Rows are counted up to this number: more would take longer, and nobody needs the number. */
export const countLimit = 1000

/** `rows` null: not counted yet. `schedule`: like `every 5 min`; null = not known. */
export type StreamRow = StreamFacts &
  Expectation & {
    readonly schedule: string | null
    readonly rows: number | null
    readonly newest: string | null
    /** Parents whose children are still to be read. */
    readonly due: number
  }

export type OverviewData = {
  readonly streams: readonly StreamRow[]
  /** Workers that are alive. */
  readonly workers: number
  readonly gaps: number
  /** What the audits of the last 30 days show. */
  readonly audits: readonly AuditEstimate[]
  readonly paused: { readonly until: string; readonly why: string } | null
  readonly held: { readonly since: string; readonly why: string } | null
  readonly failures: readonly FailureReport[]
  readonly writebacks: Readonly<Record<string, number>>
  readonly oldestDraft: string | null
  readonly heldLanes: number
  readonly waiting: { readonly count: number; readonly since: string | null }
  readonly budget: BudgetData
  readonly runs: readonly RunRow[]
}

export type RunRow = {
  readonly id: string
  readonly mode: SyncMode
  readonly startedAt: string
  readonly finishedAt: string | null
  readonly outcome: SyncOutcome | null
  readonly requests: number
  readonly rows: number
  readonly changed: number
}
export type RunData = RunRow & { readonly streams: readonly RunStream[] }
export type RunStream = {
  readonly stream: string
  readonly requests: number
  readonly rows: number
  readonly changed: number
  readonly tookMs: Ms
  readonly skipped: string | null
  readonly failed: string | null
}

/** Parents whose children cannot be read, by the reason. */
export type FailingParents = { readonly reason: string; readonly count: number; readonly example: string }

export type StreamData = {
  readonly row: StreamRow
  readonly gaps: readonly (GapReport & { readonly resolvedAt: string | null })[]
  readonly failing: readonly FailingParents[]
}

export type WaitingRow = {
  readonly id: string
  readonly since: string
  readonly visitorId: string | null
  readonly name: string | null
  readonly email: string | null
  readonly lastWords: string | null
  readonly agent: string | null
}
/** `next`: where the following page begins; null = there is none. */
export type WaitingData = {
  readonly rows: readonly WaitingRow[]
  readonly next: string | null
  readonly buckets: readonly { readonly minAgeMs: Ms; readonly count: number }[]
}

export type MessageRow = {
  readonly id: string
  readonly sender: string | null
  readonly role: 'visitor' | 'team' | 'event'
  readonly name: string | null
  readonly content: string | null
  readonly at: string | null
  readonly isDeleted: boolean
}
export type ChangeRow = {
  readonly field: string
  readonly before: string | null
  readonly after: string | null
  readonly at: string
}
export type ConversationData = {
  readonly id: string
  readonly visitorId: string | null
  readonly name: string | null
  readonly email: string | null
  readonly createdAt: string | null
  readonly handledAt: string | null
  readonly waitingSince: string | null
  readonly agent: string | null
  readonly origin: string | null
  readonly isComplete: boolean | null
  readonly deletedAt: string | null
  readonly messages: readonly MessageRow[]
  /** Where older messages continue; null = these are all. */
  readonly older: string | null
  readonly changes: readonly ChangeRow[]
  readonly writebacks: readonly {
    readonly id: string
    readonly operation: Operation
    readonly status: WritebackStatus
  }[]
}

export type ConversationRow = {
  readonly id: string
  readonly name: string | null
  readonly lastAt: string | null
  readonly isOpen: boolean
  readonly words: string | null
}
export type VisitorData = {
  readonly id: string
  readonly name: string | null
  readonly email: string | null
  readonly deletedAt: string | null
  readonly fields: readonly { readonly name: string; readonly value: string }[]
  readonly conversations: readonly ConversationRow[]
  readonly activity: readonly { readonly at: string | null; readonly text: string }[]
}

/** `exact`: the address of the only thing with this id. */
export type SearchData =
  | { readonly kind: 'conversation' | 'visitor'; readonly id: string }
  | {
      readonly kind: 'found'
      readonly people: readonly { readonly id: string; readonly name: string | null; readonly email: string | null }[]
      readonly conversations: readonly ConversationRow[]
      readonly next: string | null
      /** Conversations that the index does not have yet. */
      readonly missing: number
    }

export type FieldRow = {
  readonly stream: StreamName
  readonly path: string
  readonly column: string | null
  readonly type: string
  readonly firstSeen: string
  /** Share of the newest rows that have it; null = it has no column. */
  readonly filled: number | null
}
export type SchemaData = { readonly fields: readonly FieldRow[]; readonly sampled: number }

export type ServiceData = {
  readonly behaviours: readonly (ServiceBehaviour & { readonly learnedAt: string })[]
  readonly deliveries: readonly { readonly found: string; readonly count: number; readonly last: string }[]
}

/** A day's numbers for the charts, by the project's local date. Null: nothing to measure on that day. */
export type DayRow = {
  readonly date: string
  readonly visitorMessages: number
  /** Times that a visitor began to wait, by who ended it. */
  readonly answeredByHuman: number
  readonly answeredByAi: number
  readonly notAnswered: number
  /** Of the waits for a human. */
  readonly medianSeconds: number | null
  readonly p90Seconds: number | null
  readonly openAtEnd: number | null
  readonly waitingAtEnd: number | null
  readonly calls: number
}

/** Names of fields with what customers said and who they are, on whatever page. */
const personal: ReadonlySet<string> = new Set([
  ...['content', 'name', 'email', 'lastWords', 'words', 'fields', 'activity'],
  ...['visitorName', 'firstWords', 'payload', 'effect', 'differs', 'check', 'samples'],
])

export function hideMessages<T>(data: T): T {
  return hide(data) as T
}

function hide(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(hide)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, personal.has(name) ? hidden(inner) : hide(inner)]),
  )
}

function hidden(value: unknown): unknown {
  return Array.isArray(value) ? [] : null
}

/** The one word for how a stream is doing, derived from one set of facts. Numbers stand beside it on every page. */
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
type Expectation = { readonly maxAgeMs: Ms | null }

const streamStates = ['fresh', 'late', 'failing', 'skipped', 'running', 'unread', 'read'] as const
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
