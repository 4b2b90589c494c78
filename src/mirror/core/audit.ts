/**
 * An audit reads a random sample of parents again, with their children: its rows, which of their
 * differences count, and what audits of the last month show together. Pure.
 *
 * Samples of several nights may be counted together because each is drawn anew, from all rows of
 * its night, whatever earlier ones found: the limit then holds for the average of these nights,
 * also if the share changed from night to night (Hoeffding 1956). Therefore no audit that ended is
 * left out, and a difference that was found counts for a month. An interrupted audit counts for
 * nothing, whatever it found: what interrupts it does not depend on that.
 */
import type { StreamName, streamSpecs } from '../../../schema/stream-specs.ts'
import { formatCount } from '../../values/format.ts'
import type { EpochMs, Ms } from '../../values/time.ts'

/** The streams whose rows are drawn, with their children. */
export type AuditedStream = keyof typeof drawn
const drawn = {
  conversations: 'drawn',
  visitors: 'drawn',
} as const satisfies {
  [N in StreamName as (typeof streamSpecs)[N]['audited'] extends 'drawn' ? N : never]: 'drawn'
}
export const auditedStreams = Object.keys(drawn) as readonly AuditedStream[]

/** One finished audit. Times are RFC 3339 text. */
export type AuditResult = {
  readonly id: string
  readonly stream: AuditedStream
  readonly startedAt: string
  readonly finishedAt: string
  /** Rows that could be drawn: those that the mirror had, those marked as deleted included. */
  readonly population: number
  readonly drawn: number
  /** Read again and compared. */
  readonly compared: number
  /** Of the compared ones. A change that the next incremental sync brought does not count. */
  readonly differing: number
  /** Of the differing ones: those that are stored again as the service has them. */
  readonly corrected: number
  /** The service answered 404: deleted there since the last reconcile. Not compared. */
  readonly gone: number
  /** The service did not let them be read. Not compared. */
  readonly unreadable: number
  readonly requests: number
  readonly tookMs: Ms
}

/** `status`: what follows from the audits of a stream. */
export type AuditEstimate = {
  readonly stream: AuditedStream
  /** How many audits, and when the first and the last of them ended. */
  readonly audits: number
  readonly since: string
  readonly lastAt: string
  readonly sampled: number
  readonly differing: number
  readonly gone: number
  readonly unreadable: number
  /** At the last audit. */
  readonly population: number
  /** The last audit compared every row, so the share is known. */
  readonly isExact: boolean
  readonly confidence: number
  /** The share that differs at most. */
  readonly upperLimit: number
  /** The same as a sentence. */
  readonly words: string
}

/** Samples older than this no longer count. */
export const pooledMs: Ms = 30 * 86_400_000

export function estimateDifferences(
  results: readonly AuditResult[],
  now: EpochMs,
): AuditEstimate[] {
  const recent = results.filter(({ finishedAt }) => Date.parse(finishedAt) > now - pooledMs)
  const ordered = recent.toSorted((a, b) => (a.finishedAt < b.finishedAt ? -1 : 1))
  return auditedStreams.flatMap((stream) => estimateStream(stream, ordered))
}

function estimateStream(
  stream: AuditedStream,
  results: readonly AuditResult[],
): AuditEstimate | [] {
  const ordered = results.filter((result) => result.stream === stream)
  const last = ordered.at(-1)
  if (last === undefined) return []
  const isExact = last.compared > 0 && last.compared + last.gone === last.population
  const counted = isExact ? [last] : ordered
  const sum = (of: 'compared' | 'differing' | 'gone' | 'unreadable') =>
    counted.reduce((total, result) => total + result[of], 0)
  const counts = { sampled: sum('compared'), differing: sum('differing') }
  if (counts.sampled === 0) return []
  const limit = isExact ? counts.differing / counts.sampled : upperLimit(counts)
  const words = isExact ? exactWords(stream, counts) : sampledWords(stream, limit)
  return {
    stream,
    audits: counted.length,
    since: counted[0]?.finishedAt ?? last.finishedAt,
    lastAt: last.finishedAt,
    ...counts,
    gone: sum('gone'),
    unreadable: sum('unreadable'),
    population: last.population,
    isExact,
    confidence,
    upperLimit: limit,
    words,
  }
}

function exactWords(
  stream: AuditedStream,
  { sampled, differing }: Pick<AuditEstimate, 'sampled' | 'differing'>,
): string {
  if (differing === 0)
    return `none of the ${formatCount(sampled)} ${stream} differed from the service`
  return (
    `${formatCount(differing)} of the ${formatCount(sampled)} ${stream} ` +
    'differed from the service'
  )
}

function sampledWords(stream: AuditedStream, limit: number): string {
  if (limit >= 1) return `too few ${stream} were read again to say how many differ`
  const { cases, among } = toFrequency(limit)
  return (
    `with ${confidence * 100} % confidence fewer than ${formatCount(cases)} in ` +
    `${formatCount(among)} ${stream} differ`
  )
}

/** `none of 10,412 read again in 21 audits differed; 1,203,442 are mirrored`. */
export function describeEvidence(estimate: AuditEstimate): string {
  const { audits, sampled, differing, gone, unreadable, population, isExact } = estimate
  const found = differing === 0 ? 'none' : formatCount(differing)
  // Messages at an end of their list that the service no longer shows may stay.
  const corrected =
    differing === 0 ? [] : ['what differed was corrected as far as the service still shows it']
  const several = `in ${formatCount(audits)} ${audits === 1 ? 'audit' : 'audits'}`
  return [
    isExact
      ? 'all were read again'
      : `${found} of ${formatCount(sampled)} read again ${several} differed`,
    ...corrected,
    ...(isExact ? [] : [`${formatCount(population)} are mirrored`]),
    ...(gone === 0 ? [] : [`${formatCount(gone)} had been deleted in the service`]),
    ...(unreadable === 0 ? [] : [`${formatCount(unreadable)} could not be read`]),
  ].join('; ')
}

const confidence = 0.95

/**
 * The share that is exceeded with a probability of 5 % at most, if `differing` of `sampled`
 * do, which were drawn at random; 1 without a sample.
 */
export function upperLimit({
  sampled,
  differing,
}: Pick<AuditEstimate, 'sampled' | 'differing'>): number {
  if (sampled <= differing) return 1
  const target = Math.log1p(-confidence)
  if (differing === 0) return -Math.expm1(target / sampled)
  let low = differing / sampled
  let high = 1
  // The probability falls as the share grows. Ends where no number lies between the two.
  for (;;) {
    const middle = (low + high) / 2
    if (middle <= low || middle >= high) return high
    if (logProbabilityOfAtMost(differing, sampled, middle) > target) low = middle
    else high = middle
  }
}

/** The logarithm of P(X ≤ k), as the terms of a large sample are too small. 0 < `share` < 1. */
function logProbabilityOfAtMost(k: number, n: number, share: number): number {
  const logOdds = Math.log(share) - Math.log1p(-share)
  let term = n * Math.log1p(-share)
  let sum = term
  for (let i = 1; i <= k; i++) {
    term += Math.log((n - i + 1) / i) + logOdds
    const [large, small] = term > sum ? [term, sum] : [sum, term]
    sum = large + Math.log1p(Math.exp(small - large))
  }
  return sum
}

/** The share rounded up to whole cases among a power of ten, to one or two digits. */
export function toFrequency(share: number) {
  let among = 100
  while (share * among < 2 && among < 1e12) among *= 10
  let cases = Math.min(among, Math.ceil(share * among))
  while (cases % 10 === 0 && among > 100) {
    cases /= 10
    among /= 10
  }
  return { cases, among }
}

/**
 * A sample of rows that are seen once, in which each is equally likely. Vitter's algorithm R
 * (1985): the n-th row replaces a random one with the probability size / n.
 */
export function createSample(size: number, random: () => number) {
  const sample: string[] = []
  let seen = 0
  return {
    add: (id: string) => {
      const place = sample.length < size ? sample.length : Math.floor(random() * (seen + 1))
      if (place < size) sample[place] = id
      seen += 1
    },
    population: () => seen,
    /** In random order, so that the first ones are a random sample, too. */
    draw: () => shuffle(sample, random),
  }
}

/** Fisher and Yates. */
function shuffle(ids: readonly string[], random: () => number): readonly string[] {
  const shuffled = [...ids]
  for (let last = shuffled.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    const [a = '', b = ''] = [shuffled[last], shuffled[other]]
    shuffled[last] = b
    shuffled[other] = a
  }
  return shuffled
}

export type Difference = {
  readonly stream: StreamName
  /** The parts of the row's key, joined by slashes. */
  readonly key: string
  readonly kind: 'missing here' | 'gone there' | 'different'
  /** The top-level fields that differ; empty if the whole row is missing. */
  readonly fields: readonly string[]
}

/** A difference, and a hash of the row that is stored here; null = none is. */
export type SeenDifference = Difference & { readonly storedHash: string | null }

export function withoutHash({ storedHash: _, ...difference }: SeenDifference): Difference {
  return difference
}

/**
 * Differences that were there before a sync and are after it, while the mirror still stores the
 * same row: the sync read the service later than the first comparison, and did not bring what that
 * saw. All others are changes of the service since.
 */
export function confirmedDifferences(
  before: readonly SeenDifference[],
  after: readonly SeenDifference[],
) {
  const earlier = new Set(before.map(identityOf))
  return after.filter((difference) => earlier.has(identityOf(difference)))
}

function identityOf({ stream, key, storedHash }: SeenDifference): string {
  return JSON.stringify([stream, key, storedHash])
}
