/** The columns that undocumented fields of the service became, by the object that shows them. */
import { sql } from 'kysely'
import { type StreamName, streamSpecs } from '../../../schema/stream-specs.ts'
import { analyticsViews } from '../../analytics/views/all-views.ts'
import type { AnalyticsView } from '../../analytics/views/view-spec.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'

export async function listDiscoveredColumns({ db, project }: ProjectDb) {
  const { rows } = await sql<{ stream: StreamName; name: string; type: string; path: string }>`
    select stream, column_name as name, type, path from discovered_fields
    where project_id = ${project} and column_name is not null order by stream, column_name`.execute(db)
  const byTable = Map.groupBy(rows, ({ stream }): string => streamSpecs[stream].table)
  const views = Object.entries<AnalyticsView>(analyticsViews)
  const shown = views.flatMap(([name, { discovers }]) => (discovers === undefined ? [] : [[name, discovers] as const]))
  const about = (path: string) => `the undocumented field ${path} of the service`
  const describe = (table: string, type?: 'text') =>
    (byTable.get(table) ?? []).map((row) => ({
      ...{ name: row.name, type: `${type ?? row.type}?`, use: 'dimension', about: about(row.path) },
    }))
  return new Map([
    ...[...byTable.keys()].map((table) => [table, describe(table)] as const),
    // Views show them as texts.
    ...shown.map(([view, table]) => [view, describe(table, 'text')] as const),
  ])
}
