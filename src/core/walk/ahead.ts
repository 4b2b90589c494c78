/** Rows that are dated ahead of the clocks: by every time that may be the one that the list is ordered by. */
import { tolerated } from '../horizon.ts'
import type { Page } from './evidence.ts'
import type { Order } from './order.ts'

/** Their ids. Of a list whose order is not known yet, those that show no earlier time at all. */
export function datedAhead(order: Order | null, { ids, times, horizon }: Page): readonly string[] {
  return ids.filter((_, i) => {
    const row = times[i] ?? new Map<string, number>()
    const shown = order === null ? [...row.values()] : order.fields.flatMap((field) => row.get(field) ?? [])
    return shown.length > 0 && shown.every((at) => at > horizon + tolerated)
  })
}
