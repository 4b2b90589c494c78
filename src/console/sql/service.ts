/** What the service turned out to do. */
import { sql } from 'kysely'
import { readBehaviours } from '../../maintenance/sql/status.ts'
import { type EpochMs, toTimestamp } from '../../values/time.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'

const deliveryDays = 30

/** Behaviours with their evidence, and webhooks by what was read because of them. */
export async function readServiceFacts({ db, project, typed }: ProjectDb, now: EpochMs) {
  const since = toTimestamp(now - deliveryDays * 86_400_000)
  const { rows } = await sql<{ found: string; count: number; last: string }>`
    select coalesce(found, 'not processed yet') as found, count(*) as count, max(received_at) as last
    from webhook_deliveries where project_id = ${project} and received_at >= ${typed('time', since)}
    group by 1 order by 2 desc limit 50`.execute(db)
  const deliveries = rows.map((row) => ({ ...row, count: Number(row.count) }))
  return { behaviours: await readBehaviours(db, project), deliveries }
}
