/** What analysts see of a project's settings. */
import { sql } from 'kysely'
import type { AnalyticsSettings } from '../../config/analytics-settings.ts'
import { earliestTime } from '../../mirror/sql/mirror-state.ts'
import { daySeconds, parseTime } from '../../values/time.ts'
import { inList } from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { inTransaction } from '../../warehouse/transactions.ts'
import { calendarRange, calendarRows, slaRows, type TimeSpan } from '../core/calendar.ts'
import { createRoleOfSender, senderTypeRows } from '../core/sender-roles.ts'
import { insertRows, replaceRows } from './fact-rows.ts'
import { type FactsSettings, factsVersion, fingerprintsOf } from './facts-state.ts'

export async function writeReferenceTables(trx: ProjectDb, settings: FactsSettings): Promise<void> {
  const { analytics, timeZone } = settings
  await writeCalendar(trx, settings)
  await replaceRows(trx, 'dim_sla', slaRows(analytics.targets))
  await writeCallFields(trx, analytics)
  // The settings may have changed: all known sender types get their roles.
  await replaceRows(
    trx,
    'dim_sender_type',
    senderTypeRows(await listSenderTypes(trx), analytics.roles),
  )
  await sql`
    update facts_state set version = ${factsVersion}, fingerprint = ${fingerprintsOf(settings).all},
      time_zone = ${timeZone}, personal_data = ${analytics.personalData ? sql`true` : sql`false`}
    where project_id = ${trx.project}`.execute(trx.db)
}

/**
 * They decide whose a call is, so an erasure writes them, and each sync before it stores calls;
 * what else is shown may wait for the facts.
 */
export async function updateCallFields(
  context: ProjectDb,
  { calls }: Pick<AnalyticsSettings, 'calls'>,
): Promise<void> {
  if (!(await areCallFieldsStored(context, calls)))
    await inTransaction(context, (trx) => writeCallFields(trx, { calls }))
}

export function writeCallFields(
  trx: ProjectDb,
  { calls }: Pick<AnalyticsSettings, 'calls'>,
): Promise<void> {
  return replaceRows(trx, 'call_fields', [calls])
}

async function areCallFieldsStored(
  { db, project }: ProjectDb,
  calls: AnalyticsSettings['calls'],
): Promise<boolean> {
  const row = await db
    .selectFrom('call_fields')
    .selectAll()
    .where('project_id', '=', project)
    .executeTakeFirst()
  const stored: Readonly<Record<string, unknown>> = row ?? {}
  return row !== undefined && Object.entries(calls).every(([name, path]) => stored[name] === path)
}

export async function writeCalendar(
  trx: ProjectDb,
  { analytics, timeZone }: FactsSettings,
): Promise<void> {
  const range = await neededRange(trx)
  const rows = calendarRows({ ...analytics, timeZone }, range)
  await replaceRows(trx, 'zone_offsets', rows.zone_offsets)
  await replaceRows(trx, 'business_spans', rows.business_spans)
  await replaceRows(trx, 'dim_date', rows.dim_date)
}

/** It has the days of all rows, and of the next year: a process may run for months. */
export async function isCalendarComplete(context: ProjectDb): Promise<boolean> {
  const { first, last } = await context.db
    .selectFrom('dim_date')
    .select((eb) => [eb.fn.min('starts_at').as('first'), eb.fn.max('ends_at').as('last')])
    .where('project_id', '=', context.project)
    .executeTakeFirstOrThrow()
  const { from } = await neededRange(context)
  const isLongEnough = (parseTime(last) ?? 0) > context.clock() / 1000 + 366 * daySeconds
  return isLongEnough && (parseTime(first) ?? Number.POSITIVE_INFINITY) <= from + daySeconds
}

/** Whole years from that of the earliest row. */
async function neededRange(context: ProjectDb): Promise<TimeSpan> {
  const now = Math.floor(context.clock() / 1000)
  const earliest = (await earliestTime(context)) ?? now
  // A day of another zone can begin in the year before.
  const firstYear = new Date((earliest - daySeconds) * 1000).getUTCFullYear()
  return { from: Date.UTC(firstYear, 0, 1) / 1000, to: calendarRange(now).to }
}

/** Longer values are no names of types, and an index could not hold them. */
const maxLength = 200

/** Roles by the settings. `store`: adds the sender types that were asked for since. */
export function createSenderTypes({ roles }: Pick<AnalyticsSettings, 'roles'>) {
  const roleOf = createRoleOfSender(roles)
  const seen = new Set<string>()
  return {
    roleOf: (senderType: string | null) => {
      if (senderType !== null) seen.add(senderType)
      return roleOf(senderType)
    },
    store: async (trx: ProjectDb) => {
      const senderTypes = [...seen].filter(({ length }) => length <= maxLength)
      const known = new Set(
        await listSenderTypes(trx, sql`sender_type ${inList(trx.kind, senderTypes)}`),
      )
      const added = senderTypes.filter((senderType) => !known.has(senderType))
      await insertRows(trx, 'dim_sender_type', senderTypeRows(added, roles))
    },
  }
}

async function listSenderTypes(
  { db, project }: ProjectDb,
  condition = sql`true`,
): Promise<string[]> {
  const { rows } = await sql<{ type: string }>`
    select sender_type as type from dim_sender_type where project_id = ${project} and ${condition}
    order by sender_type`.execute(db)
  return rows.map(({ type }) => type)
}
