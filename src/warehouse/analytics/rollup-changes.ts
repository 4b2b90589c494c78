/** What has been learned of the rollups' numbers, and which of them have changed since. */
import { sql } from 'kysely'
import { definitionBehaviours } from '../../core/analytics/proven-definition.ts'
import type { RollupDefinition } from '../../core/command-reports.ts'
import { daySeconds, type EpochMs, toTimestamp } from '../../core/time.ts'
import type { Db } from '../database/connection-pool.ts'

/** A change is an alert for a week. */
const alertMs = 7 * daySeconds * 1000

/** By project: numbers with a proven definition that a final day of the last week does not match. */
export async function countChangedDefinitions(db: Db, now: EpochMs): Promise<Map<string, number>> {
  const { rows } = await sql<{ project: string; count: number }>`
    select c.project_id as project, count(distinct c.metric) as count from rollup_comparisons c
    join service_behaviours b on b.project_id = c.project_id and b.name = ${sql.lit(definitionBehaviours)} || c.metric
    join rollup_definitions d on d.project_id = c.project_id and d.metric = c.metric and d.definition is not null
    where c.is_final and c.window_to > ${toTimestamp(now - alertMs)}
      and (c.own_value is null or c.own_value <> c.service_value)
    group by c.project_id`.execute(db)
  return new Map(rows.map(({ project, count }) => [project, Number(count)]))
}

export async function listRollupDefinitions(db: Db, project: string): Promise<RollupDefinition[]> {
  const rows = await db
    .selectFrom('rollup_definitions')
    .select(['metric', 'verdict', 'definition', 'days', 'days_equal as daysEqual', 'learned_at as learnedAt'])
    .where('project_id', '=', project)
    .orderBy('metric')
    .execute()
  return rows as RollupDefinition[]
}
