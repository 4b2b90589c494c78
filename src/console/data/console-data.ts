/** What the pages show: read from the warehouse, apart from all other work, and joined with the configuration. */

import type { StreamName } from '../../../schema/stream-specs.ts'
import { rememberResults } from '../../http/remember-results.ts'
import type { EpochMs, Ms } from '../../values/time.ts'
import type { DayRow, OverviewData, StreamData, StreamRow } from '../core/data.ts'
import type { ConsoleReads } from '../sql/console-reads.ts'
import { type ConsoleProject, scheduleOf } from './console-project.ts'

export type ConsoleData = ReturnType<typeof createConsoleData>

/** Counting takes too long for a page, so that it shows what was counted within the last minute. */
const countsHoldMs: Ms = 60_000
/** A small mirror is counted by then. */
const countsWaitMs: Ms = 100
/** The views for analysts take seconds for a million messages. */
const daysHoldMs: Ms = 10 * 60_000
const daysWaitMs: Ms = 1500
/** Several tabs, and the stream of live numbers, ask for the same. */
const overviewHoldsMs: Ms = 1000

export type ReadsOf = (project: ConsoleProject) => Promise<ConsoleReads>

/** Both open the warehouse when the first page is asked for. `longReadsOf`: for what takes longer than a page may. */
export function createConsoleData(readsOf: ReadsOf, longReadsOf: ReadsOf, now: () => EpochMs) {
  const counts = rememberResults({ maxAgeMs: countsHoldMs, now, read: countAll(longReadsOf) })
  const days = rememberResults({
    maxAgeMs: daysHoldMs,
    now,
    read: async ({ project, from }: DaysRequest) => (await longReadsOf(project)).days(from),
  })
  const streamRows = async (project: ConsoleProject): Promise<{ rows: readonly StreamRow[]; workers: number }> => {
    // Opened beside the other one, so that a small mirror is counted within the wait even on the first page.
    const [reads] = await Promise.all([readsOf(project), longReadsOf(project)])
    const counting = counts.soon(project.projectId, project, countsWaitMs)
    const workers = await reads.countWorkers(now())
    const stored = await reads.streams(project.streams, now())
    const known = await counting
    const rows = stored.map((row) => ({
      ...row,
      ...scheduleOf(row.stream, project, workers > 0),
      rows: known?.get(row.stream) ?? null,
    }))
    return { rows, workers }
  }
  const readOverview = async (project: ConsoleProject): Promise<OverviewData> => {
    const reads = await readsOf(project)
    const { rows: streams, workers } = await streamRows(project)
    const to = now()
    const budget = { limit: project.limit, ...(await reads.budget(to - hourMs, to, minuteMs)) }
    return { ...(await reads.overview(to)), workers, streams, budget }
  }
  const overviews = rememberResults({ maxAgeMs: overviewHoldsMs, now, read: readOverview })
  return {
    overview: (project: ConsoleProject): Promise<OverviewData> => overviews.get(project.projectId, project),
    streams: async (project: ConsoleProject) => {
      const reads = await readsOf(project)
      const { rows } = await streamRows(project)
      return { rows, gaps: await reads.gaps(null), failing: await reads.failingParents(null) }
    },
    /** Null: the project does not mirror it. */
    stream: async (project: ConsoleProject, stream: StreamName): Promise<StreamData | null> => {
      const reads = await readsOf(project)
      const row = (await streamRows(project)).rows.find((it) => it.stream === stream)
      if (row === undefined) return null
      return { row, gaps: await reads.gaps(stream), failing: await reads.failingParents(stream) }
    },
    /** From that local date on; null: they are still being counted. */
    days: (project: ConsoleProject, from: string): Promise<readonly DayRow[] | null> =>
      days.soon(`${project.projectId} ${from}`, { project, from }, daysWaitMs),
    reads: readsOf,
  }
}

type DaysRequest = { readonly project: ConsoleProject; readonly from: string }

const minuteMs: Ms = 60_000
const hourMs: Ms = 60 * minuteMs

function countAll(readsOf: ReadsOf) {
  return async (project: ConsoleProject): Promise<ReadonlyMap<StreamName, number>> => {
    const reads = await readsOf(project)
    const counted = new Map<StreamName, number>()
    for (const stream of project.streams) counted.set(stream, await reads.countRows(stream))
    return counted
  }
}
