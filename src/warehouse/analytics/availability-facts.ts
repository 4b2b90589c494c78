/** Replaces hours of availability by what the stored snapshots say now. */
import { sql } from 'kysely'
import { type AvailabilitySnapshot, deriveAvailabilityHours } from '../../core/analytics/availability-hours.ts'
import { type EpochSeconds, hourSeconds, type LocalDate, parseTime, rfc3339 } from '../../core/time.ts'
import { listParameter } from '../database/dialect.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { insertRows } from './fact-rows.ts'
import type { FactDerivation, FactSource } from './fact-source.ts'
import { dateOfListed, epochSeconds, startOfHourText } from './sql-time.ts'

/** Hours whose snapshots are held in memory at once. */
const hoursPerGroup = 500

export const availabilityFacts: FactDerivation = {
  kind: 'availability_hour',
  replaceFacts,
  listIds,
  // All hours at once: a year takes half a second, and hours of another time zone or hold cannot be found one by one.
  idsPerRebuildStep: 1_000_000_000,
  clear: async ({ db, project }) =>
    void (await db.deleteFrom('fct_availability_hour').where('project_id', '=', project).execute()),
}

/** `to` is excluded. */
type Span = { readonly from: EpochSeconds; readonly to: EpochSeconds }
type Hour = { readonly date: LocalDate; readonly hour: number }

/**
 * A local hour is longer than an hour when the clocks change (in Troll, Antarctica, by two hours), so rows are read from
 * this long before it begins and until this long after it ends.
 */
const marginSeconds = 4 * hourSeconds

/** `ids`: hours in UTC whose snapshots changed, in order. */
async function replaceFacts(source: FactSource, ids: readonly string[]): Promise<number> {
  for (let n = 0; n < ids.length; n += hoursPerGroup) {
    const hours = ids.slice(n, n + hoursPerGroup).map((id) => parseTime(id) ?? 0)
    const changed = await findChangedSpans(source, hours)
    for (const spans of groupNearSpans(changed, 2 * (marginSeconds + source.settings.availabilityHoldSeconds)))
      await replaceHours(source, spans)
  }
  return ids.length
}

/** The seconds whose availability may differ: those of the hours, and those for which the snapshot before them holds. */
async function findChangedSpans(source: FactSource, hours: readonly EpochSeconds[]): Promise<Span[]> {
  const hold = source.settings.availabilityHoldSeconds
  const spans: Span[] = []
  for (const from of hours) {
    const isCovered = (spans.at(-1)?.to ?? Number.NEGATIVE_INFINITY) >= from
    const before = isCovered ? null : await snapshotBefore(source, from)
    if (before !== null) spans.push({ from: before, to: before + hold + 1 })
    spans.push({ from, to: from + hourSeconds + hold })
  }
  return spans.toSorted((a, b) => a.from - b.from)
}

async function snapshotBefore({ db, project, typed }: FactSource, at: EpochSeconds): Promise<EpochSeconds | null> {
  const { rows } = await sql<{ at: string | null }>`
    select max(taken_at) as at from availability_snapshots
    where project_id = ${project} and taken_at < ${typed('time', rfc3339(at))}`.execute(db)
  return parseTime(rows[0]?.at) ?? null
}

/** Groups of spans that are apart by more than `seconds`. */
function groupNearSpans(spans: readonly Span[], seconds: number): Span[][] {
  const groups: Span[][] = []
  let end = Number.NEGATIVE_INFINITY
  for (const span of spans) {
    const last = groups.at(-1)
    if (last === undefined || span.from > end + seconds) groups.push([span])
    else last.push(span)
    end = Math.max(end, span.to)
  }
  return groups
}

/** Replaces every local hour that has a second in one of the spans. */
async function replaceHours(source: FactSource, spans: readonly Span[]): Promise<void> {
  const { calendar, settings } = source
  const hours = new Map<string, Hour>()
  for (const { from, to } of spans) {
    for (let at = from; at < to; at = calendar.hourEnd(at)) {
      const hour = { date: calendar.dateOf(at), hour: calendar.hourOf(at) }
      hours.set(keyOf(hour), hour)
    }
  }
  const snapshots = await readSnapshots(source, {
    from: Math.min(...spans.map(({ from }) => from)) - marginSeconds - settings.availabilityHoldSeconds,
    to: Math.max(...spans.map(({ to }) => to)) + marginSeconds,
  })
  const derived = deriveAvailabilityHours(snapshots, settings.availabilityHoldSeconds, calendar)
  await deleteHours(source, hours)
  const changed = derived.filter((row) => hours.has(keyOf(row)))
  await insertRows(source, 'fct_availability_hour', changed)
}

/** As `deleteHours` computes it from the row. */
function keyOf({ date, hour }: Hour): string {
  return `${date} ${hour}`
}

async function deleteHours({ db, kind, project }: FactSource, hours: ReadonlyMap<string, Hour>): Promise<void> {
  const dates = [...new Set([...hours.values()].map(({ date }) => date))]
  await sql`
    delete from fct_availability_hour where project_id = ${project}
      and date in (select ${dateOfListed(kind)} from ${listParameter(kind, dates)} as listed)
      and cast(date as text) || ' ' || hour in (select value from ${listParameter(kind, [...hours.keys()])} as changed)
    `.execute(db)
}

/** In the order of time, and the first one after the span. */
async function readSnapshots({ db, kind, project, typed }: FactSource, span: Span): Promise<AvailabilitySnapshot[]> {
  const [from, to] = [span.from, span.to].map((at) => typed('time', rfc3339(at)))
  const { rows } = await sql<{
    at: EpochSeconds
    available: boolean | number | null
    agents: number | null
    until: EpochSeconds | null
    count: number
  }>`
    select ${epochSeconds(kind, 'taken_at')} as at, available, agents_online as agents,
      ${epochSeconds(kind, 'same_until')} as until, coalesce(same_count, 1) as count from availability_snapshots
    where project_id = ${project} and taken_at >= ${from} and taken_at <= coalesce((
      select min(taken_at) from availability_snapshots where project_id = ${project} and taken_at >= ${to}), ${to})
    order by taken_at`.execute(db)
  return rows.map(({ at, available, agents, until, count }) => ({
    ...{ at, until: until ?? at, count: Number(count) },
    available: available === null ? null : Boolean(available),
    agentsOnline: agents !== null && agents >= 0 && agents <= maxAgents ? Number(agents) : null,
  }))
}

/** No team has more agents: such a number is not one of agents. */
const maxAgents = 1_000_000

async function listIds({ db, kind, project }: ProjectDb, after: string, limit: number): Promise<string[]> {
  const hour = startOfHourText(kind, 'taken_at')
  const { rows } = await sql<{ id: string }>`
    select distinct ${hour} as id from availability_snapshots
    where project_id = ${project} and ${hour} > ${after} order by id limit ${limit}`.execute(db)
  return rows.map(({ id }) => id)
}
