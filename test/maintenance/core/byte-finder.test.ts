/** Many texts are found in bytes at once, wherever they begin. */
import { expect, test } from 'vitest'
import { createFinder, minFindable } from '../../../src/maintenance/core/byte-finder.ts'
import { seededRandom } from '../../support/seeded-random.ts'

test('finds what a search for each text alone finds, in any case of ASCII letters', () => {
  const random = seededRandom(7)
  const letters = 'abAB@.é'
  const draw = (length: number) =>
    Array.from({ length }, () => letters[Math.floor(random() * letters.length)]).join('')
  for (let round = 0; round < 60; round++) {
    const texts = Array.from({ length: 20 }, () => draw(minFindable + Math.floor(random() * 18)))
    const planted = texts
      .slice(0, 10)
      .map((text) => draw(Math.floor(random() * 9)) + text.toUpperCase())
    const data = Buffer.from(planted.join('') + draw(200))
    const found = new Set<string>()
    createFinder(texts)(data, (text, start) => {
      found.add(`${text} at ${start}`)
      return false
    })
    expect([...found].sort()).toEqual(expectedIn(data, texts).sort())
  }
})

function expectedIn(data: Buffer, texts: readonly string[]): string[] {
  const lower = (bytes: Uint8Array) =>
    bytes.map((byte) => (byte >= 65 && byte <= 90 ? byte + 32 : byte))
  const all = Buffer.from(lower(data))
  return texts.flatMap((text, n) => {
    const bytes = Buffer.from(lower(Buffer.from(text)))
    return Array.from(all.keys()).flatMap((start) =>
      all.subarray(start, start + bytes.length).equals(bytes) ? `${n} at ${start}` : [],
    )
  })
}
