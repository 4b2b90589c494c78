/** Replaces hours of availability by what the stored snapshots say now. */
import { sql } from 'kysely'
import {
  daySeconds,
  type EpochSeconds,
  hourSeconds,
  parseTime,
  rfc3339,
} from '../../values/time.ts'
import { epochSeconds } from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { deriveAvailabilityHours } from '../core/availability-hours.ts'
import type { TimeSpan } from '../core/calendar.ts'
import { type FactDerivation, type FactSource, insertRows } from './fact-rows.ts'

/** Changed hours within so much time are replaced together: their snapshots are held in memory. */
const groupSeconds = 30 * daySeconds

export const availabilityFacts: FactDerivation = {
  replaceFacts,
  listIds,
  // All at once: half a second a year, and hours of another zone cannot be found one by one.
  idsPerRebuildStep: 1_000_000_000,
  clear: async ({ db, project }) =>
    void (await db.deleteFrom('fct_availability_hour').where('project_id', '=', project).execute()),
}

/** `ids`: hours in UTC whose snapshots changed, in order. */
async function replaceFacts(source: FactSource, ids: readonly string[]): Promise<number> {
  const hours = ids.map((id) => parseTime(id) ?? 0)
  for (const group of Map.groupBy(hours, (hour) => Math.floor(hour / groupSeconds)).values()) {
    const [first = 0, last = first] = [group[0], group.at(-1)]
    // The snapshot before it may hold for longer or shorter now.
    const from = (await snapshotBefore(source, first)) ?? first
    const to = last + hourSeconds + source.settings.availabilityHoldSeconds
    // Clocks that go back at midnight show the end of a date again.
    await replaceDays(source, { from: from - daySeconds, to: to + 2 * daySeconds })
  }
  return ids.length
}

/** Replaces the local days from that of `from` to the one before that of `to`. */
async function replaceDays(source: FactSource, { from, to }: TimeSpan): Promise<void> {
  const { db, project, calendar, settings } = source
  const first = calendar.dateOf(from)
  const end = calendar.dateOf(to)
  const margin = 2 * daySeconds + settings.availabilityHoldSeconds
  const snapshots = await readSnapshots(source, { from: from - margin, to: to + margin })
  const rows = deriveAvailabilityHours(snapshots, settings.availabilityHoldSeconds, calendar)
  await sql`
    delete from fct_availability_hour where project_id = ${project} and date >= ${first}
    and date < ${end}`.execute(db)
  const replaced = rows.filter(({ date }) => date >= first && date < end)
  await insertRows(source, 'fct_availability_hour', replaced)
}

async function snapshotBefore(
  { db, project, typed }: FactSource,
  at: EpochSeconds,
): Promise<EpochSeconds | null> {
  const { rows } = await sql<{ at: string | null }>`
    select max(read_at) as at from availability_snapshots
    where project_id = ${project} and read_at < ${typed('time', rfc3339(at))}`.execute(db)
  return parseTime(rows[0]?.at) ?? null
}

/** No team has more agents: such a number is not one of agents. */
const maxAgents = 1_000_000

/** In the order of time, and the first one after the span. */
async function readSnapshots({ db, kind, project, typed }: FactSource, span: TimeSpan) {
  const [from, to] = [span.from, span.to].map((at) => typed('time', rfc3339(at)))
  const { rows } = await sql<
    Record<'at' | 'count', number> &
      Record<'until' | 'agents', number | null> & { available: boolean | number | null }
  >`
    select ${epochSeconds(kind, 'read_at')} as at, available, agents_online as agents,
      ${epochSeconds(kind, 'same_until')} as until, coalesce(same_count, 1) as count
      from availability_snapshots
    where project_id = ${project} and read_at >= ${from} and read_at <= coalesce((
      select min(read_at) from availability_snapshots where project_id = ${project}
      and read_at >= ${to}), ${to})
    order by read_at`.execute(db)
  return rows.map(({ at, available, agents, until, count }) => ({
    at,
    until: until ?? at,
    count: Number(count),
    available: available === null ? null : Boolean(available),
    agentsOnline: agents !== null && agents >= 0 && agents <= maxAgents ? Number(agents) : null,
  }))
}

async function listIds(
  { db, kind, project }: ProjectDb,
  after: string,
  limit: number,
): Promise<string[]> {
  const hour =
    kind === 'sqlite'
      ? sql`substr(read_at, 1, 13) || ':00:00Z'`
      : sql`to_char(read_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24') || ':00:00Z'`
  const { rows } = await sql<{ id: string }>`
    select distinct ${hour} as id from availability_snapshots
    where project_id = ${project} and ${hour} > ${after} order by id limit ${limit}`.execute(db)
  return rows.map(({ id }) => id)
}
