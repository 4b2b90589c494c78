/** UUIDs that encode their row's index, so that a million rows need no table of ids. */
import type { Switches } from '../switches.ts'
import type { Purpose, Random } from './random.ts'

export type RowIds = ReturnType<typeof createRowIds>

export type IdLetters = Switches['ids.letters']

/** `letters`: `upper` ids are found in exactly these letters, as by a service that compares ids as texts; the others in all. */
export function createRowIds(random: Random, purpose: Purpose, letters: IdLetters = 'lower') {
  const key = random(purpose, 0xffff_ffff)
  const isUpper = letters === 'upper'
  const of = (index: number) => {
    const [b, c, d] = [random(purpose, index, 1), random(purpose, index, 2), random(purpose, index, 3)]
    const id = formatUuid(scramble(index, key), b, c, d)
    return isUpper ? id.toUpperCase() : id
  }
  /** The row's index, or undefined for an id that was not created here. */
  const indexOf = (id: string): number | undefined => {
    const index = unscramble(Number.parseInt(id.slice(0, 8), 16), key)
    return of(index) === (isUpper ? id : id.toLowerCase()) ? index : undefined
  }
  return { idAt: of, indexOf }
}

function formatUuid(a: number, b: number, c: number, d: number): string {
  const [one, two, three, four] = [toHex(a), toHex(b), toHex(c), toHex(d)]
  const variant = '89ab'[d & 3]
  return `${one}-${two.slice(0, 4)}-4${two.slice(4, 7)}-${variant}${three.slice(0, 3)}-${three.slice(3, 7)}${four}`
}

const toHex = (n: number) => (n >>> 0).toString(16).padStart(8, '0')

// Multiplying by an odd number is one-to-one modulo 2^32, and so is xor: indexes are scattered reversibly.
const factor = 0x9e3779b1
const inverse = modularInverse(factor)

function scramble(index: number, key: number): number {
  const y = Math.imul(index, factor) ^ key
  return (y ^ (y >>> 16)) >>> 0
}

function unscramble(scattered: number, key: number): number {
  const y = scattered ^ (scattered >>> 16)
  return Math.imul(y ^ key, inverse) >>> 0
}

function modularInverse(odd: number): number {
  let x = odd
  for (let step = 0; step < 5; step += 1) x = Math.imul(x, 2 - Math.imul(odd, x))
  return x
}
