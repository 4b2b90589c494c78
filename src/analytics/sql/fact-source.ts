/** What the derivations of a project's facts have in common. */
import { sql } from 'kysely'
import type { AnalyticsSettings } from '../../config/analytics-settings.ts'
import type { FactKind } from '../../mirror/sql/pending-facts.ts'
import type { EpochSeconds } from '../../values/time.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { Calendar } from '../core/calendar.ts'

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

type IdColumn = readonly [table: string, column: string]

/** Lists ids of stored rows, and of facts whose rows may be gone. */
export function idsOf(stored: IdColumn, derived: IdColumn): FactDerivation['listIds'] {
  return async ({ db, project }, after, limit) => {
    const [rows, facts] = [stored, derived].map(([table, column]) => {
      const id = sql.ref(column)
      return sql`select id from (select distinct ${id} as id from ${sql.table(table)}
        where project_id = ${project} and ${id} > ${after} order by ${id} limit ${limit}) as listed`
    })
    const ids = await sql<{ id: string }>`${rows} union ${facts} order by id limit ${limit}`.execute(db)
    return ids.rows.map(({ id }) => id)
  }
}
