/** The rollups of a project: days of one time zone, or of two while the days of a new one are read. */
import { sql } from 'kysely'
import { localDateOfDay } from '../../values/days.ts'
import { type EpochSeconds, parseTime } from '../../values/time.ts'
import type { StoredRollup } from '../core/mirror.ts'
import type { EncodedRow } from './encode-value.ts'
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

/** The window of an encoded row, and when it was read. */
export function rollupWindow(plan: InsertPlan, row: EncodedRow) {
  const text = (name: string) => columnText(plan, row, name) ?? ''
  const [time_zone, read_at] = [text('time_zone'), text('read_at')]
  return { window_from: text('window_from'), window_to: text('window_to'), time_zone, read_at }
}

/**
 * Removes the windows that a day replaces that is about to be stored, in the same transaction: those of another time zone,
 * or of earlier rules of this zone, once days of this zone cover all of them. Until then they stay, beside days that
 * overlap them. Windows that are also days of this zone become them (winter in London, another name of the same zone).
 */
export async function clearForRollup(trx: ProjectContext, day: ReturnType<typeof rollupWindow>): Promise<void> {
  const { db, project, typed } = trx
  const { window_from: dayFrom, window_to: dayTo, time_zone: zone } = day
  const { rows } = await sql<RollupWindow>`
    select window_from, window_to from analytics_rollups
    where project_id = ${project} and (time_zone is distinct from ${typed('text', zone)}
      or (window_from < ${dayTo} and window_to > ${dayFrom} and not (window_from = ${dayFrom} and window_to = ${dayTo})))
    order by window_from`.execute(db)
  if (rows.length === 0) return
  const windows = rows.map((window) => ({ ...window, ...toSpan(window), date: localDateOfDay(toSpan(window), zone) }))
  const sameDays = windows.filter(({ date }) => date !== null)
  const days = [...(await readWindowsOfZone(trx, zone)), ...sameDays, toSpan(day)].toSorted((a, b) => a.from - b.from)
  for (const { window_from, window_to, date, from, to } of windows) {
    const others = days.filter((other) => other.from !== from || other.to !== to)
    if (date === null && !isCovered({ from, to }, others, toSeconds(day.read_at))) continue
    for (const table of ['analytics_rollups', 'analytics_metrics']) {
      const change =
        date === null
          ? sql`delete from ${sql.table(table)}`
          : sql`update ${sql.table(table)} set day = ${typed('date', date)}, time_zone = ${zone}`
      const isWindow = sql`window_from = ${window_from} and window_to = ${window_to}`
      await sql`${change} where project_id = ${project} and ${isWindow}`.execute(db)
    }
  }
}

type Span = { readonly from: EpochSeconds; readonly to: EpochSeconds }

async function readWindowsOfZone({ db, project }: ProjectContext, zone: string): Promise<Span[]> {
  const { rows } = await sql<RollupWindow>`
    select window_from, window_to from analytics_rollups
    where project_id = ${project} and time_zone = ${zone}`.execute(db)
  return rows.map(toSpan)
}

/** Whether the days, which are in order, have all of the window that has passed. */
function isCovered({ from, to }: Span, days: readonly Span[], now: EpochSeconds): boolean {
  let covered = from
  for (const day of days) if (day.from <= covered) covered = Math.max(covered, day.to)
  return covered >= Math.min(to, now)
}

function toSpan({ window_from, window_to }: RollupWindow): Span {
  return { from: toSeconds(window_from), to: toSeconds(window_to) }
}

function toSeconds(text: string): EpochSeconds {
  return parseTime(text) ?? 0
}
