/** What all kinds of seed rows are created from: their numbers, ids, times and texts. */
import { dayMs, type EpochMs, type Ms } from '../values/time.ts'
import {
  createRandom,
  integerBetween,
  type Purpose,
  pick,
  purposes,
  type SeededRandom,
  toUnitInterval,
} from './random.ts'
import type { Switches } from './switches.ts'

/** Numbers of rows. A range is drawn evenly, both ends included. */
export type Size = {
  readonly conversations: number
  readonly visitors: number
  readonly calls: number
  readonly messagesPerConversation: number | Range
  /** Share of the conversations that have only the fewest messages of the range; 0 if missing. */
  readonly shortConversations?: number
  /** Only so many of the newest can be open. Any if missing. */
  readonly openConversations?: number
  readonly activityPerVisitor: number | Range
  readonly days: number
}
export type Range = readonly [low: number, high: number]

export const defaultSize: Size = {
  conversations: 300,
  visitors: 200,
  calls: 120,
  messagesPerConversation: [1, 30],
  activityPerVisitor: [0, 12],
  days: 60,
}

/** `end`: when the seed data ends and the service starts; its last row is a few seconds older. */
export type SeedOptions = { readonly seed: number; readonly size: Size; readonly end: EpochMs }

export type SeedContext = ReturnType<typeof createSeedContext>

export function createSeedContext({ seed, size, end }: SeedOptions, switches: Switches) {
  const random = createRandom(seed)
  const from = end - size.days * dayMs
  const to = end - 5000
  const isWeekly = switches['rows.rhythm'] === 'weekly'
  const createLine = (kind: 'conversation' | 'visitor' | 'call') => {
    const count = size[`${kind}s`]
    const storm = switches[`storm.${kind}s`]
    return createTimeline({ from, to, count, storm, isWeekly }, random, purposes[kind])
  }
  const createIds = (kind: 'conversation' | 'visitor' | 'call') =>
    createRowIds(random, purposes[kind], switches['ids.letters'] === 'upper')
  const visitorIds = createIds('visitor')
  return {
    random,
    size,
    switches,
    to,
    sampleText: createSampleText(random, switches.content),
    createLine,
    createIds,
    visitorIds,
    visitorOf: (draw: number) => visitorIds.idAt(draw % Math.max(1, size.visitors)),
  }
}

export const toRange = (size: number | Range): Range =>
  typeof size === 'number' ? [size, size] : size

/**
 * UUIDs that encode their row's index, so that a million rows need no table of ids. Those in
 * capitals are found in exactly these letters, the others in all.
 */
export function createRowIds(random: SeededRandom, purpose: Purpose, inCapitals = false) {
  const key = random(purpose, 0xffff_ffff)
  const idAt = (index: number) => {
    const b = random(purpose, index, 1)
    const c = random(purpose, index, 2)
    const d = random(purpose, index, 3)
    const id = formatUuid(scramble(index, key), b, c, d)
    return inCapitals ? id.toUpperCase() : id
  }
  /** The row's index, or undefined for an id that was not created here. */
  const indexOf = (id: string): number | undefined => {
    const index = unscramble(Number.parseInt(id.slice(0, 8), 16), key)
    return idAt(index) === (inCapitals ? id : id.toLowerCase()) ? index : undefined
  }
  return { idAt, indexOf }
}

function formatUuid(a: number, b: number, c: number, d: number): string {
  const one = toHex(a)
  const two = toHex(b)
  const three = toHex(c)
  const four = toHex(d)
  const variant = '89ab'[d & 3]
  return `${one}-${two.slice(0, 4)}-4${two.slice(4, 7)}-${variant}${three.slice(0, 3)}-${three.slice(3, 7)}${four}`
}

const toHex = (n: number) => (n >>> 0).toString(16).padStart(8, '0')

// Multiplying by an odd number and xor are one-to-one modulo 2^32.
const factor = 0x9e3779b1
const inverse = 0x0e8b2f51

function scramble(index: number, key: number): number {
  const y = Math.imul(index, factor) ^ key
  return (y ^ (y >>> 16)) >>> 0
}

function unscramble(scattered: number, key: number): number {
  const y = scattered ^ (scattered >>> 16)
  return Math.imul(y ^ key, inverse) >>> 0
}

const weekMs = 7 * dayMs

/** Spread over the covered days in order of their indexes, with a storm of many in one second. */
function createTimeline(
  {
    from,
    to,
    count,
    storm,
    isWeekly,
  }: Readonly<Record<'from' | 'to' | 'count' | 'storm', number> & { isWeekly: boolean }>,
  random: SeededRandom,
  purpose: Purpose,
) {
  const size = Math.min(storm, count)
  const first = Math.floor((count - size) / 2)
  const timeOf = isWeekly ? weeklyTime : (share: number) => share
  const spread = (index: number) => {
    const share =
      (index + toUnitInterval(random(purposes.time, purpose, index))) / Math.max(1, count)
    return Math.floor(from + timeOf(share, (to - from) / weekMs) * (to - from))
  }
  /** Whether the row is one of those that share one second. */
  const inStorm = (index: number) => index >= first && index < first + size
  const stormSecond = Math.ceil(spread(first) / 1000) * 1000
  // Fractions grow with the index, so that times and indexes have the same order.
  const startOf = (index: number): EpochMs => {
    if (!inStorm(index))
      return size > 0 && index >= first ? Math.max(spread(index), stormSecond + 999) : spread(index)
    return stormSecond + Math.floor(((index - first) / size) * 999)
  }
  // Without this, all long spans would end in the last second: an unwanted storm.
  const within = (index: number, span: Ms) => {
    const available = to - startOf(index)
    return span <= available
      ? span
      : available * toUnitInterval(random(purposes.time, purpose + 100, index))
  }
  return {
    /** When row `index` started. Never decreases with the index. */
    startAt: startOf,
    /** Before the data ends; a storm row ends in the second in which it started. */
    endAt: (index: number, span: Ms): EpochMs =>
      startOf(index) + (inStorm(index) ? 0 : Math.floor(within(index, span))),
  }
}

/**
 * The share of time after which that share of the rows has begun: a day has four times the rows.
 */
function weeklyTime(share: number, weeks: number): number {
  const turn = 2 * Math.PI * Math.max(1, Math.round(weeks))
  return share + (0.6 * Math.sin(turn * share)) / turn
}

const words =
  `the my order invoice account please thanks hello can you help with delivery arrived yesterday refund
 change address password reset does not work on mobile I would like to know when it will be sent again we have looked
 into this and found that your subscription is active until next month sorry for delays let me check Größe café 東京
 plan upgrade export report error page shows empty cart after login monday number colour is wrong`.split(
    /\s+/,
  )

const firstNames =
  'Ada, Grace, Linus, Zoë, Søren, Mía, 健, Олена, Ali, Noor, Jean-Luc, D’Arcy'.split(', ')
const lastNames =
  "Lovelace, Hopper, O'Brien, Müller, García, 山田, Шевченко, van der Berg, Null, Ng".split(', ')

const sentenceCount = 1024

/** Sample texts: sentences from a small vocabulary, with occasional text that breaks programs. */
function createSampleText(random: SeededRandom, variety: Switches['content']) {
  const sentenceFor = (draw: number) => composeSentence(random, draw % sentenceCount)
  return {
    sentence(a: number, b: number) {
      const draw = random(purposes.text, a, b)
      const plain = `${sentenceFor(draw)} (${draw % 100_000}) ${sentenceFor(draw >>> 11)}`
      return variety === 'plain' ? plain : withUnusualText(plain, draw, variety)
    },
    personName(a: number) {
      const draw = random(purposes.person, a, 1)
      return `${pick(firstNames, draw)} ${pick(lastNames, draw >>> 8)}`
    },
  }
}

function composeSentence(random: SeededRandom, n: number): string {
  const length = integerBetween(3, 22, random(purposes.phrase, n, 0))
  const text = Array.from({ length }, (_, w) =>
    pick(words, random(purposes.phrase, n, w + 1)),
  ).join(' ')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

function withUnusualText(plain: string, draw: number, variety: Switches['content']): string {
  const n = Math.floor(toUnitInterval(Math.imul(draw, 0x9e3779b1) >>> 0) * 4000)
  if (n === 0) return `${plain} ${'very long '.repeat(3000)}`
  if (n < 4) return `${plain}\u0000 after a NUL`
  if (n < 60) return `${plain} 🙏🏽👩‍👩‍👧`
  if (n < 80) return `"quoted", 'single'; \\ back\nnew\tline\u2028\u200f שלום`
  if (n < 84) return ''
  if (n < 88 && variety === 'hostile') return `${plain} \ud83d cut in half`
  return plain
}
