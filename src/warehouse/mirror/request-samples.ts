/** How many requests a run had sent at some of the last minutes' moments: enough to say how many a window holds. */

/** A moment in milliseconds since 1970, and the requests sent until then. */
export type RequestSample = readonly [at: number, requests: number]

/** Rate windows are a minute; several windows may be asked about. */
export const keepSamplesMs = 10 * 60_000
const sampleIntervalMs = 1000

/** One sample a second at most, of the last ten minutes and the one before. */
export function addSample(samples: readonly RequestSample[], sample: RequestSample): RequestSample[] {
  const [last, before] = [samples.at(-1), samples.at(-2)]
  const isTooClose = last !== undefined && before !== undefined && last[0] - before[0] < sampleIntervalMs
  const kept = isTooClose ? samples.slice(0, -1) : samples
  const firstToKeep = kept.findLastIndex(([at]) => at < sample[0] - keepSamplesMs)
  return [...kept.slice(Math.max(0, firstToKeep)), sample]
}

/** Requests sent after `since`; rather too many than too few. */
export function requestsSince(samples: readonly RequestSample[], since: number): number {
  const last = samples.at(-1)
  const before = samples.findLast(([at]) => at <= since)
  return last === undefined ? 0 : last[1] - (before?.[1] ?? 0)
}

export function parseSamples(text: string | null | undefined): RequestSample[] {
  return text == null ? [] : JSON.parse(text)
}
