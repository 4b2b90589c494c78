/** Choices of a seeded random number generator. */
import { seededRandom } from '../seeded-random.ts'

export type RandomChoices = {
  /** True with that probability. */
  readonly chance: (probability: number) => boolean
  /** A whole number, both bounds included. */
  readonly int: (from: number, to: number) => number
  readonly pick: <T>(choices: readonly T[]) => T
  readonly shuffle: <T>(items: readonly T[]) => T[]
}

export function seededChoices(seed: number): RandomChoices {
  const next = seededRandom(Math.imul(seed, 2_654_435_761))
  const int = (from: number, to: number) => from + Math.floor(next() * (to - from + 1))
  return {
    chance: (probability) => next() < probability,
    int,
    pick: (choices) => choices[int(0, choices.length - 1)] as (typeof choices)[number],
    shuffle: (items) =>
      items
        .map((item) => ({ item, order: next() }))
        .sort((a, b) => a.order - b.order)
        .map(({ item }) => item),
  }
}
