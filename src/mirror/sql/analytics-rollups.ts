/**
 * The rollups of a project, by days of one time zone, or of two while those of a new one are read.
 */
import { sql } from 'kysely'
import { localDateOfDay } from '../../values/days.ts'
import { escapeDots, unescapePaths } from '../../values/field-path.ts'
import { type Json, parseJson } from '../../values/json.ts'
import { type EpochSeconds, parseTime } from '../../values/time.ts'
import { batchesOf } from '../../warehouse/dialect.ts'
import { encodeText } from '../../warehouse/escape.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { StoredRollup } from '../core/mirror.ts'
import { type EncodedRow, textOf } from './encode-rows.ts'

type RollupWindow = { readonly window_from: string; readonly window_to: string }

export async function readRollups({ db, project }: ProjectDb): Promise<StoredRollup[]> {
  const { rows } = await sql<RollupWindow & { time_zone: string; read_at: string }>`
    select window_from, window_to, time_zone, read_at from analytics_rollups
    where project_id = ${project} order by window_from desc`.execute(db)
  return rows.map((row) => ({
    ...toSpan(row),
    timeZone: row.time_zone,
    readAt: toSeconds(row.read_at),
  }))
}

/**
 * Removes, in the same transaction, the windows that a day to be stored replaces: those of another
 * time zone or of earlier rules, once days of this zone cover all of them. Windows that are also
 * days of this zone become them (winter in London, another name of the same zone).
 */
export async function clearForRollup(
  { db, project, typed }: ProjectDb,
  row: EncodedRow,
): Promise<void> {
  const day = windowOf(row)
  const { window_from: dayFrom, window_to: dayTo } = day
  const zone = textOf(row, 'time_zone') ?? ''
  const { rows } = await sql<RollupWindow>`
    select window_from, window_to from analytics_rollups
    where project_id = ${project} and (time_zone <> ${zone}
      or (window_from < ${dayTo} and window_to > ${dayFrom} and not (window_from = ${dayFrom}
      and window_to = ${dayTo})))
    order by window_from`.execute(db)
  if (rows.length === 0) return
  const ofZone = await sql<RollupWindow>`
    select window_from, window_to from analytics_rollups
    where project_id = ${project} and time_zone = ${zone}`.execute(db)
  const windows = rows.map((window) => ({
    ...window,
    ...toSpan(window),
    date: localDateOfDay(toSpan(window), zone),
  }))
  const sameDays = windows.filter(({ date }) => date !== null)
  const days = [...ofZone.rows.map(toSpan), ...sameDays, toSpan(day)].toSorted(
    (a, b) => a.from - b.from,
  )
  for (const { window_from, window_to, date, from, to } of windows) {
    const others = days.filter((other) => other.from !== from || other.to !== to)
    if (date === null && !isCovered({ from, to }, others, toSeconds(textOf(row, 'read_at') ?? '')))
      continue
    for (const table of ['analytics_rollups', 'analytics_metrics']) {
      const change =
        date === null
          ? sql`delete from ${sql.table(table)}`
          : sql`update ${sql.table(table)} set day = ${typed('date', date)}, time_zone = ${zone}`
      await sql`${change}
        where project_id = ${project} and window_from = ${window_from}
        and window_to = ${window_to}`.execute(db)
    }
  }
}

type Span = Pick<StoredRollup, 'from' | 'to'>

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

function windowOf(row: EncodedRow): RollupWindow {
  return {
    window_from: textOf(row, 'window_from') ?? '',
    window_to: textOf(row, 'window_to') ?? '',
  }
}

export async function replaceMetrics(
  { db, kind, project }: ProjectDb,
  row: EncodedRow,
): Promise<void> {
  const window = windowOf(row)
  await sql`
    delete from analytics_metrics where project_id = ${project}
      and window_from = ${window.window_from} and window_to = ${window.window_to}`.execute(db)
  const numbers = new Map<string, number>()
  collectNumbers(parseJson(textOf(row, 'raw') ?? ''), '', numbers)
  unescapePaths(numbers)
  const metrics = new Map([...numbers].map(([name, value]) => [encodeText(kind, name), value]))
  const text = (column: string) => textOf(row, column) ?? ''
  const day = { project_id: project, ...window, day: text('day'), time_zone: text('time_zone') }
  const values = [...metrics].map(([metric, value]) => ({ ...day, metric, value }))
  for (const batch of batchesOf(values, 200))
    await db.insertInto('analytics_metrics').values(batch).execute()
}

/** Characters. The path is part of a key, and indexes have limits; longer ones stay in `raw`. */
const maxPathLength = 300

/** Numbers by dotted path, without integers that a column of numbers cannot hold. */
function collectNumbers(json: Json, path: string, into: Map<string, number>): void {
  if (typeof json !== 'object' || json === null) return
  for (const [name, value] of Object.entries(json)) {
    const innerPath = path === '' ? escapeDots(name) : `${path}.${escapeDots(name)}`
    if (innerPath.length > maxPathLength) continue
    if (typeof value === 'number' || (typeof value === 'bigint' && BigInt(Number(value)) === value))
      into.set(innerPath, Number(value))
    else collectNumbers(value, innerPath, into)
  }
}
