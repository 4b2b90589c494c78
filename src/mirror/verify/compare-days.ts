/** Compares the daily rollups: those that are stored, and the days that should be. */

import type { StreamName } from '../../../schema/stream-specs.ts'
import type { ApiGet } from '../../service/core/api-request.ts'
import { localDaysBetween } from '../../values/days.ts'
import { stringifyJson } from '../../values/json.ts'
import type { ProjectId } from '../../values/project.ts'
import { type EpochSeconds, parseTime, rfc3339 } from '../../values/time.ts'
import type { RowKey } from '../core/mirror.ts'
import type { Mirror } from '../sql/mirror.ts'
import type { DailyStream } from '../streams/stream.ts'
import { fetchDay, unreadableDayReason } from '../sync/fetch-rollup.ts'
import { mapInOrder } from '../sync/map-in-order.ts'
import { throwIfAborted } from '../sync/stop.ts'
import type { Comparison } from './comparison.ts'

export type DayDeps = {
  readonly projectId: ProjectId
  readonly startDate: EpochSeconds | null
  readonly get: ApiGet
  readonly signal: AbortSignal
  readonly timeZone: string
  /** The present day ends the comparison. */
  readonly present: EpochSeconds
  readonly mirror: Pick<Mirror, 'readRows' | 'readRawById' | 'earliestTime'>
}

export async function compareDays(deps: DayDeps & { comparison: Comparison }, stream: DailyStream): Promise<void> {
  const stored = new Map<string, string>()
  for await (const { key, raw } of readStoredRows(deps, stream.name)) stored.set(key.join('/'), raw)
  const windows = new Set([...stored.keys(), ...(await expectedWindows(deps))])
  const compareDay = async (window: string) => {
    const [from = 0, to = 0] = window.split('/').map((time) => parseTime(time))
    try {
      const { data } = await fetchDay(deps, stream, { from, to }, 'reconcile', deps.present)
      return () => deps.comparison.row(stream.name, window, stored.get(window), stringifyJson(data))
    } catch (error) {
      const why = unreadableDayReason(error)
      if (why === null) throw error
      return () => deps.comparison.incomplete(stream.name, why)
    }
  }
  for await (const report of mapInOrder(each(windows), readsAtOnce, compareDay)) report()
}

async function* each<T>(all: Iterable<T>): AsyncGenerator<T> {
  yield* all
}

/** Every day from the start date, or from the first mirrored row, until today. */
async function expectedWindows({ mirror, startDate, timeZone, present }: DayDeps): Promise<string[]> {
  const from = startDate ?? (await mirror.earliestTime())
  if (from === null || from > present) return []
  return localDaysBetween(from, present, timeZone).map((day) => `${rfc3339(day.from)}/${rfc3339(day.to)}`)
}

/** One read at a time would use only a part of the allowance where the service takes longer than a tenth of a second. */
export const readsAtOnce = 16

/** All mirrored rows of a stream, or of one of its parents, in key order. */
export async function* readStoredRows(
  { mirror, signal }: { readonly mirror: Pick<Mirror, 'readRows'>; readonly signal: AbortSignal },
  stream: StreamName,
  parent: string | null = null,
) {
  for (let after: RowKey | null = null; ; ) {
    const rows: Awaited<ReturnType<Mirror['readRows']>> = await mirror.readRows(stream, after, 500, parent)
    for (const row of rows) {
      throwIfAborted(signal)
      yield row
    }
    after = rows.at(-1)?.key ?? null
    if (after === null) return
  }
}
