/** What analysts see of a project's settings: its calendar, targets, roles, and where its calls hold what. */
import { sql } from 'kysely'
import { calendarRange, calendarRows } from '../../core/analytics/calendar-rows.ts'
import { factsVersion } from '../../core/analytics/facts-fingerprint.ts'
import { slaRows } from '../../core/analytics/sla-rows.ts'
import { daySeconds, type EpochMs, toTimestamp } from '../../core/time.ts'
import type { Db } from '../database/connection-pool.ts'
import { replaceRows } from './fact-rows.ts'
import { type FactsSettings, fingerprintsOf } from './facts-state.ts'
import type { FactsContext } from './pending-facts.ts'
import { replaceSenderRoles } from './sender-types.ts'

export async function writeReferenceTables(
  context: FactsContext,
  trx: Db,
  settings: FactsSettings,
  now: EpochMs,
): Promise<void> {
  const { analytics, timeZone } = settings
  await writeCalendar(context, trx, settings, now)
  await replaceRows(context, trx, 'dim_sla', slaRows(analytics.targets))
  await replaceRows(context, trx, 'call_fields', [analytics.calls])
  await replaceSenderRoles(context, trx, analytics)
  await sql`
    update facts_state set version = ${factsVersion}, fingerprint = ${fingerprintsOf(settings).all},
      time_zone = ${timeZone}, personal_data = ${analytics.personalData ? sql`true` : sql`false`}
    where project_id = ${context.project}`.execute(trx)
}

export async function writeCalendar(
  context: FactsContext,
  trx: Db,
  { analytics, timeZone }: FactsSettings,
  now: EpochMs,
): Promise<void> {
  const range = calendarRange(Math.floor(now / 1000))
  const rows = calendarRows({ ...analytics, timeZone }, range)
  await replaceRows(context, trx, 'zone_offsets', rows.zone_offsets)
  await replaceRows(context, trx, 'business_spans', rows.business_spans)
  await replaceRows(context, trx, 'dim_date', rows.dim_date)
}

/** Whether the days of the next year are there: dashboards look ahead, and a process may run for months. */
export async function isCalendarLongEnough({ db, project }: FactsContext, now: EpochMs): Promise<boolean> {
  const { last } = await db
    .selectFrom('dim_date')
    .select((eb) => eb.fn.max('date').as('last'))
    .where('project_id', '=', project)
    .executeTakeFirstOrThrow()
  return last !== null && last > toTimestamp(now + 366 * daySeconds * 1000).slice(0, 10)
}
