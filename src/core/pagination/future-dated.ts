/** Rows that are dated ahead of the clocks: by every time that may be the one that the list is ordered by. */
import { clockTolerance } from '../cursor-limit.ts'
import type { ScanPage } from './page-evidence.ts'
import type { SortOrder } from './sort-order.ts'

/** Their ids. Of a list whose order is not known yet, those that show no earlier time at all. */
export function findFutureDated(
  order: SortOrder | null,
  { ids, times, cursorLimit: horizon }: ScanPage,
): readonly string[] {
  return ids.filter((_, i) => {
    const row = times[i] ?? new Map<string, number>()
    const shown = order === null ? [...row.values()] : order.fields.flatMap((field) => row.get(field) ?? [])
    return shown.length > 0 && shown.every((at) => at > horizon + clockTolerance)
  })
}
