/** Stateless: each number is a function of the seed and its purpose, so any row is made alone. */
export type SeededRandom = (purpose: Purpose, a: number, b?: number) => number

/** Two purposes never share a sequence. The values determine all seed data: append only. */
export const purposes = {
  project: 1,
  conversation: 2,
  visitor: 3,
  call: 4,
  time: 5,
  size: 6,
  sender: 7,
  text: 8,
  handled: 9,
  agent: 10,
  origin: 11,
  person: 12,
  place: 13,
  plan: 14,
  entry: 15,
  outcome: 16,
  recording: 17,
  fault: 18,
  mutation: 19,
  latency: 20,
  rollup: 21,
  phrase: 22,
  token: 23,
  extra: 24,
  misdated: 25,
  late: 26,
  undated: 27,
} as const
export type Purpose = (typeof purposes)[keyof typeof purposes]

/** Creates a generator of unsigned 32-bit integers. */
export function createRandom(seed: number): SeededRandom {
  const start = mixHash(0x2545f491, seed)
  return (purpose, a, b = 0) => mixHash(mixHash(mixHash(start, purpose), a), b) >>> 0
}

export const toUnitInterval = (draw: number): number => draw / 0x1_0000_0000

export function pick<T>(list: readonly T[], draw: number): T {
  const chosen = list[draw % list.length]
  if (chosen === undefined) throw new Error('nothing to pick from')
  return chosen
}

/** An integer from `low` to `high`, both included. */
export function integerBetween(low: number, high: number, draw: number): number {
  return low + Math.floor(toUnitInterval(draw) * (high - low + 1))
}

function mixHash(state: number, value: number): number {
  let h = Math.imul(state ^ value, 0x9e3779b1)
  h = Math.imul(h ^ (h >>> 15), 0x85ebca6b)
  return Math.imul(h ^ (h >>> 13), 0xc2b2ae35) ^ (h >>> 16)
}
