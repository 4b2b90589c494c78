/** What the derivations of a project's facts have in common. */
import type { AnalyticsSettings } from '../../core/analytics/analytics-settings.ts'
import type { Calendar } from '../../core/analytics/calendar.ts'
import type { EpochSeconds } from '../../core/time.ts'
import type { ProjectDb } from '../database/project-db.ts'
import type { FactKind } from './pending-facts.ts'

export type FactSource = ProjectDb & {
  readonly settings: AnalyticsSettings
  /** Whether words of messages are indexed. */
  readonly hasSearch: boolean
  readonly calendar: Calendar
  /** Since when changes of the project's conversations are watched. */
  readonly mirroredSince: EpochSeconds
}

/** How the facts of one kind are derived, within a transaction under the project's write lock. */
export type FactDerivation = {
  readonly kind: FactKind
  /** Replaces the facts of the first of these ids; returns of how many, as many rows are left for another transaction. */
  readonly replaceFacts: (source: FactSource, ids: readonly string[]) => Promise<number>
  /** Ids that rows or facts have, after this one ('' = from the beginning), in their order. */
  readonly listIds: (context: ProjectDb, after: string, limit: number) => Promise<string[]>
  /** How many ids a rebuild handles in one transaction. */
  readonly idsPerRebuildStep: number
  /** Deletes the facts that no id leads to, before the first step of a rebuild. */
  readonly clear?: (context: ProjectDb) => Promise<void>
}
