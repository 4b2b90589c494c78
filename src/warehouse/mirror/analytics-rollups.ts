/** The rollups of a project: days of one time zone. No two overlap in any committed state. */
import { sql } from 'kysely'
import { localDateOfDay } from '../../core/days.ts'
import type { StoredRollup } from '../../core/mirror.ts'
import { historyGapSubject } from '../../core/rollups.ts'
import { type EpochSeconds, parseTime } from '../../core/time.ts'
import type { Db } from '../database/connection-pool.ts'
import { typedParameter } from '../database/dialect.ts'
import { openGap } from './gaps.ts'
import type { ProjectContext } from './project-context.ts'

type RollupWindow = { readonly window_from: string; readonly window_to: string }

export async function readRollups(context: ProjectContext): Promise<StoredRollup[]> {
  const rows = await context.db
    .selectFrom('analytics_rollups')
    .select(['window_from', 'window_to', 'time_zone', 'read_at'])
    .where('project_id', '=', context.project)
    .orderBy('window_from', 'desc')
    .execute()
  return rows.map((row) => ({
    from: toSeconds(row.window_from),
    to: toSeconds(row.window_to),
    timeZone: row.time_zone,
    readAt: parseTime(row.read_at) ?? 0,
  }))
}

/**
 * Removes what conflicts with a day that is about to be stored, in the same transaction: windows of another time zone,
 * and windows that overlap it (the rules of a zone may change). Windows that are also days of this zone stay (winter in
 * London, another name of the same zone).
 */
export async function clearForRollup(
  context: ProjectContext,
  trx: Db,
  day: RollupWindow & { readonly time_zone: string },
): Promise<void> {
  const { rows } = await sql<RollupWindow>`
    select window_from, window_to from analytics_rollups
    where project_id = ${context.project} and (time_zone is distinct from ${typedParameter(context.kind, 'text', day.time_zone)}
      or (window_from < ${day.window_to} and window_to > ${day.window_from}
        and not (window_from = ${day.window_from} and window_to = ${day.window_to})))
    order by window_from`.execute(trx)
  const dropped = []
  for (const window of rows) {
    const date = localDateOfDay({ from: toSeconds(window.window_from), to: toSeconds(window.window_to) }, day.time_zone)
    if (date !== null) await relabelWindow(context, trx, window, date, day.time_zone)
    else dropped.push(window)
  }
  for (const window of dropped) await deleteWindow(context, trx, window)
  await openHistoryGap(context, trx, dropped, day.time_zone)
}

async function relabelWindow(
  context: ProjectContext,
  trx: Db,
  { window_from, window_to }: RollupWindow,
  date: string,
  zone: string,
) {
  for (const table of ['analytics_rollups', 'analytics_metrics'] as const) {
    await sql`
      update ${sql.table(table)} set day = ${typedParameter(context.kind, 'date', date)}, time_zone = ${zone}
      where project_id = ${context.project} and window_from = ${window_from} and window_to = ${window_to}`.execute(trx)
  }
}

async function deleteWindow(context: ProjectContext, trx: Db, { window_from, window_to }: RollupWindow): Promise<void> {
  for (const table of ['analytics_rollups', 'analytics_metrics'] as const) {
    await sql`
      delete from ${sql.table(table)}
      where project_id = ${context.project} and window_from = ${window_from} and window_to = ${window_to}`.execute(trx)
  }
}

/** Deleted days are a gap until they have been read again. */
async function openHistoryGap(
  context: ProjectContext,
  trx: Db,
  dropped: readonly RollupWindow[],
  zone: string,
): Promise<void> {
  const [first, last] = [dropped[0], dropped.at(-1)]
  if (first === undefined || last === undefined) return
  const reason = `the rollups of these days are read again, as days of ${zone}`
  const [from, to] = [toSeconds(first.window_from), toSeconds(last.window_to) - 1]
  await openGap(context, trx, { stream: 'analytics', from, to, reason, subject: historyGapSubject })
}

function toSeconds(text: string): EpochSeconds {
  return parseTime(text) ?? 0
}
