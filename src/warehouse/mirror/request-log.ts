/** How many requests a run had sent at some of the last minutes' moments: enough to say how many a window holds. */

/** A moment in milliseconds since 1970, and the requests sent until then. */
export type Sample = readonly [at: number, requests: number]

/** Rate windows are a minute; several windows may be asked about. */
export const keptMs = 10 * 60_000
const apartMs = 1000

/** One sample a second at most, of the last ten minutes and the one before. */
export function addSample(log: readonly Sample[], sample: Sample): Sample[] {
  const [last, before] = [log.at(-1), log.at(-2)]
  const crowded = last !== undefined && before !== undefined && last[0] - before[0] < apartMs
  const kept = crowded ? log.slice(0, -1) : log
  const old = kept.findLastIndex(([at]) => at < sample[0] - keptMs)
  return [...kept.slice(Math.max(0, old)), sample]
}

/** Requests sent after `since`; rather too many than too few. */
export function sentSince(log: readonly Sample[], since: number): number {
  const last = log.at(-1)
  const before = log.findLast(([at]) => at <= since)
  return last === undefined ? 0 : last[1] - (before?.[1] ?? 0)
}

export function readLog(text: string | null | undefined): Sample[] {
  return text == null ? [] : JSON.parse(text)
}
