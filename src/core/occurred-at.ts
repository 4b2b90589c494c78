/** The time of an event whose fields are undocumented: the time with the best matching name. */
import { normalizeName, timesIn } from './item-fields.ts'
import type { Json } from './row.ts'
import { rfc3339 } from './time.ts'

/** Likely names, best first; compared without case, with the last part of a path only. */
const timeFieldNames = 'occurredat startedat starttime start timestamp at time createdat date created'.split(' ')

/** RFC 3339, or null for a row without any time. Depends on the row alone. */
export function occurredAt(item: Json): string | null {
  const times = [...timesIn(item)]
  const rank = (path: string) => {
    const at = timeFieldNames.indexOf(normalizeName(path.slice(path.lastIndexOf('.') + 1)))
    return at === -1 ? timeFieldNames.length : at
  }
  const [best] = times.sort(([a, at], [b, bt]) => rank(a) - rank(b) || at - bt || a.localeCompare(b))
  return best === undefined ? null : rfc3339(best[1])
}
