/** What people and machines write: sentences from a small vocabulary, with the odd text that breaks programs. */
import { between, type Dice, pick, purposes, unit } from './dice.ts'

const words = `the my order invoice account please thanks hello can you help with delivery arrived yesterday refund
 change address password reset does not work on mobile I would like to know when it will be sent again we have looked
 into this and found that your subscription is active until next month sorry for trouble let me check Größe café 東京
 plan upgrade export report error page shows empty cart after login monday number colour is wrong`.split(/\s+/)

const firstNames = ['Ada', 'Grace', 'Linus', 'Zoë', 'Søren', 'Mía', '健', 'Олена', 'Ali', 'Noor', 'Jean-Luc', 'D’Arcy']
const lastNames = [
  'Lovelace',
  'Hopper',
  "O'Brien",
  'Müller',
  'García',
  '山田',
  'Шевченко',
  'van der Berg',
  'Null',
  'Ng',
]

/** `plain`: nothing odd; `hostile`: also text that is no valid Unicode. */
export type Oddity = 'plain' | 'varied' | 'hostile'

export type Phrases = {
  readonly sentence: (a: number, b: number, oddity: Oddity) => string
  readonly personName: (a: number) => string
}

export function phrasesFor(dice: Dice): Phrases {
  // Composed once: a message then costs two look-ups, not a dozen.
  const sentences = Array.from({ length: 1024 }, (_, n) => compose(dice, n))
  return {
    sentence(a, b, oddity) {
      const thrown = dice(purposes.text, a, b)
      const plain = `${pick(sentences, thrown)} (${thrown % 100_000}) ${pick(sentences, thrown >>> 11)}`
      return oddity === 'plain' ? plain : odd(plain, thrown, oddity)
    },
    personName(a) {
      const thrown = dice(purposes.person, a, 1)
      return `${pick(firstNames, thrown)} ${pick(lastNames, thrown >>> 8)}`
    },
  }
}

function compose(dice: Dice, n: number): string {
  const length = between(3, 22, dice(purposes.phrase, n, 0))
  const text = Array.from({ length }, (_, w) => pick(words, dice(purposes.phrase, n, w + 1))).join(' ')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

function odd(plain: string, thrown: number, oddity: Oddity): string {
  const one = Math.floor(unit(Math.imul(thrown, 0x9e3779b1) >>> 0) * 4000)
  if (one === 0) return `${plain} ${'very long '.repeat(3000)}`
  if (one < 4) return `${plain}\u0000 after a NUL`
  if (one < 60) return `${plain} 🙏🏽👩‍👩‍👧`
  if (one < 80) return `"quoted", 'single'; \\ back\nnew\tline\u2028\u200f שלום`
  if (one < 84) return ''
  if (one < 88 && oddity === 'hostile') return `${plain} \ud83d cut in half`
  return plain
}
