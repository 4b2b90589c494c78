/** Sample texts: sentences from a small vocabulary, with occasional text that breaks programs. */
import { integerBetween, pick, purposes, type Random, toUnitInterval } from './random.ts'

const words = `the my order invoice account please thanks hello can you help with delivery arrived yesterday refund
 change address password reset does not work on mobile I would like to know when it will be sent again we have looked
 into this and found that your subscription is active until next month sorry for delays let me check Größe café 東京
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

/** `plain`: only plain text; `hostile`: also text that is not valid Unicode. */
export type TextVariety = 'plain' | 'varied' | 'hostile'

export type SampleText = ReturnType<typeof createSampleText>

const sentenceCount = 1024

export function createSampleText(random: Random) {
  // Composed once, so that a message costs two look-ups instead of a dozen; on first use, as a small world needs few.
  const sentences: string[] = []
  const sentenceFor = (draw: number) => {
    const n = draw % sentenceCount
    const sentence = sentences[n] ?? composeSentence(random, n)
    sentences[n] = sentence
    return sentence
  }
  return {
    sentence(a: number, b: number, variety: TextVariety) {
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

function composeSentence(random: Random, n: number): string {
  const length = integerBetween(3, 22, random(purposes.phrase, n, 0))
  const text = Array.from({ length }, (_, w) => pick(words, random(purposes.phrase, n, w + 1))).join(' ')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

function withUnusualText(plain: string, draw: number, variety: TextVariety): string {
  const n = Math.floor(toUnitInterval(Math.imul(draw, 0x9e3779b1) >>> 0) * 4000)
  if (n === 0) return `${plain} ${'very long '.repeat(3000)}`
  if (n < 4) return `${plain}\u0000 after a NUL`
  if (n < 60) return `${plain} 🙏🏽👩‍👩‍👧`
  if (n < 80) return `"quoted", 'single'; \\ back\nnew\tline\u2028\u200f שלום`
  if (n < 84) return ''
  if (n < 88 && variety === 'hostile') return `${plain} \ud83d cut in half`
  return plain
}
