/** The rollups of a project: days of one time zone. No two overlap in any committed state. */
import { sql } from 'kysely'
import { localDateOfDay } from '../../core/days.ts'
import type { StoredRollup } from '../../core/mirror.ts'
import { historyGapKey } from '../../core/rollups.ts'
import { type EpochSeconds, parseTime } from '../../core/time.ts'
import type { EncodedRow } from './encode-value.ts'
import { openGap } from './gaps.ts'
import { columnText, type InsertPlan } from './insert-plan.ts'
import type { ProjectContext } from './project-context.ts'

type RollupWindow = { readonly window_from: string; readonly window_to: string }

export async function readRollups({ db, project }: ProjectContext): Promise<StoredRollup[]> {
  const rows = await db
    .selectFrom('analytics_rollups')
    .select(['window_from', 'window_to', 'time_zone', 'read_at'])
    .where('project_id', '=', project)
    .orderBy('window_from', 'desc')
    .execute()
  return rows.map((row) => ({
    from: toSeconds(row.window_from),
    to: toSeconds(row.window_to),
    timeZone: row.time_zone,
    readAt: parseTime(row.read_at) ?? 0,
  }))
}

/** The window of an encoded row. */
export function rollupWindow(plan: InsertPlan, row: EncodedRow): RollupWindow & { readonly time_zone: string } {
  const text = (name: string) => columnText(plan, row, name) ?? ''
  return { window_from: text('window_from'), window_to: text('window_to'), time_zone: text('time_zone') }
}

/**
 * Removes what conflicts with a day that is about to be stored, in the same transaction: windows of another time zone,
 * and windows that overlap it (the rules of a zone may change). Windows that are also days of this zone stay (winter in
 * London, another name of the same zone).
 */
export async function clearForRollup(
  trx: ProjectContext,
  { window_from: dayFrom, window_to: dayTo, time_zone: zone }: ReturnType<typeof rollupWindow>,
): Promise<void> {
  const { db, project, typed } = trx
  const { rows } = await sql<RollupWindow>`
    select window_from, window_to from analytics_rollups
    where project_id = ${project} and (time_zone is distinct from ${typed('text', zone)}
      or (window_from < ${dayTo} and window_to > ${dayFrom} and not (window_from = ${dayFrom} and window_to = ${dayTo})))
    order by window_from`.execute(db)
  const dropped = []
  for (const window of rows) {
    const { window_from, window_to } = window
    const date = localDateOfDay({ from: toSeconds(window_from), to: toSeconds(window_to) }, zone)
    if (date === null) dropped.push(window)
    for (const table of ['analytics_rollups', 'analytics_metrics']) {
      const change =
        date === null
          ? sql`delete from ${sql.table(table)}`
          : sql`update ${sql.table(table)} set day = ${typed('date', date)}, time_zone = ${zone}`
      const isWindow = sql`window_from = ${window_from} and window_to = ${window_to}`
      await sql`${change} where project_id = ${project} and ${isWindow}`.execute(db)
    }
  }
  await openHistoryGap(trx, dropped, zone)
}

/** Deleted days are a gap until they have been read again. */
async function openHistoryGap(trx: ProjectContext, dropped: readonly RollupWindow[], zone: string): Promise<void> {
  const [first, last] = [dropped[0], dropped.at(-1)]
  if (first === undefined || last === undefined) return
  const reason = `the rollups of these days are read again, as days of ${zone}`
  const [from, to] = [toSeconds(first.window_from), toSeconds(last.window_to) - 1]
  await openGap(trx, { stream: 'analytics', from, to, reason, dedupKey: historyGapKey })
}

function toSeconds(text: string): EpochSeconds {
  return parseTime(text) ?? 0
}
