/** Draws a sample in which every row is equally likely, from rows of unknown number that are seen once. Pure. */

/** A number from 0 to below 1. */
export type Random = () => number

type Sample = {
  /** Call it once for each row. */
  readonly add: (id: string) => void
  readonly population: () => number
  /** In random order, so that the first ones are a random sample, too. */
  readonly draw: () => readonly string[]
}

/** Vitter's algorithm R (1985): the n-th row replaces a random one of the sample with the probability size / n. */
export function createSample(size: number, random: Random): Sample {
  const sample: string[] = []
  let seen = 0
  return {
    add: (id) => {
      const place = sample.length < size ? sample.length : Math.floor(random() * (seen + 1))
      if (place < size) sample[place] = id
      seen += 1
    },
    population: () => seen,
    draw: () => shuffle(sample, random),
  }
}

/** Fisher and Yates. */
function shuffle(ids: readonly string[], random: Random): readonly string[] {
  const shuffled = [...ids]
  for (let last = shuffled.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    const [a = '', b = ''] = [shuffled[last], shuffled[other]]
    shuffled[last] = b
    shuffled[other] = a
  }
  return shuffled
}
