/** The rollups of a project: days of one time zone, of which no two overlap, at every moment that anybody can see. */
import { sql } from 'kysely'
import { dateOfDay } from '../../core/days.ts'
import type { Rollup } from '../../core/mirror.ts'
import { moment, type Seconds } from '../../core/time.ts'
import { bound } from '../database/dialect.ts'
import type { Db } from '../database/session.ts'
import type { Context } from './context.ts'
import { openGap } from './gaps.ts'

type Window = { readonly window_from: string; readonly window_to: string }

/** The gap of days that are missing from the past. */
export const historyGap = 'history'

export async function readRollups(c: Context): Promise<Rollup[]> {
  const rows = await c.db
    .selectFrom('analytics_rollups')
    .select(['window_from', 'window_to', 'time_zone', 'read_at'])
    .where('project_id', '=', c.project)
    .orderBy('window_from', 'desc')
    .execute()
  return rows.map((row) => ({
    from: seconds(row.window_from),
    to: seconds(row.window_to),
    timeZone: row.time_zone,
    readAt: moment(row.read_at) ?? 0,
  }))
}

/**
 * Makes room for a day that is about to be stored, in its transaction. Windows of another time zone go, and so does what
 * overlaps it (the rules of a zone may change, too); those that are days of this zone as well stay (winter in London,
 * another name of the same zone).
 */
export async function makeRoom(c: Context, trx: Db, day: Window & { readonly time_zone: string }): Promise<void> {
  const { rows } = await sql<Window>`
    select window_from, window_to from analytics_rollups
    where project_id = ${c.project} and (time_zone is distinct from ${bound(c.kind, 'text', day.time_zone)}
      or (window_from < ${day.window_to} and window_to > ${day.window_from}
        and not (window_from = ${day.window_from} and window_to = ${day.window_to})))
    order by window_from`.execute(trx)
  const dropped = []
  for (const window of rows) {
    const date = dateOfDay({ from: seconds(window.window_from), to: seconds(window.window_to) }, day.time_zone)
    if (date !== null) await rename(c, trx, window, date, day.time_zone)
    else dropped.push(window)
  }
  for (const window of dropped) await drop(c, trx, window)
  await tell(c, trx, dropped, day.time_zone)
}

async function rename(c: Context, trx: Db, { window_from, window_to }: Window, date: string, zone: string) {
  for (const table of ['analytics_rollups', 'analytics_metrics'] as const) {
    await sql`
      update ${sql.table(table)} set day = ${bound(c.kind, 'date', date)}, time_zone = ${zone}
      where project_id = ${c.project} and window_from = ${window_from} and window_to = ${window_to}`.execute(trx)
  }
}

async function drop(c: Context, trx: Db, { window_from, window_to }: Window): Promise<void> {
  for (const table of ['analytics_rollups', 'analytics_metrics'] as const) {
    await sql`
      delete from ${sql.table(table)}
      where project_id = ${c.project} and window_from = ${window_from} and window_to = ${window_to}`.execute(trx)
  }
}

/** What is gone is missing until it has been read again. */
async function tell(c: Context, trx: Db, dropped: readonly Window[], zone: string): Promise<void> {
  const [first, last] = [dropped[0], dropped.at(-1)]
  if (first === undefined || last === undefined) return
  const reason = `the rollups of these days are read again, as days of ${zone}`
  const [from, to] = [seconds(first.window_from), seconds(last.window_to) - 1]
  await openGap(c, trx, { stream: 'analytics', from, to, reason, subject: historyGap })
}

function seconds(text: string): Seconds {
  return moment(text) ?? 0
}
