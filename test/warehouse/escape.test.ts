/** Escaping of characters that a database cannot store. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeJson, decodeText, encodeJson, encodeText } from '../../src/warehouse/escape.ts'

/** Any UTF-16, with difficult parts made likely. */
const awkwardText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '\0',
        '\u241b',
        '\ud83d',
        '\ude00',
        '😀',
        '\\',
        'u',
        '\\u0000',
        '0000',
        '"',
        '241b',
      ),
      fc.string({ unit: 'binary' }),
      fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''))

for (const kind of ['sqlite', 'postgres'] as const) {
  describe(kind, () => {
    test('any text is encoded as a storable one and decoded unchanged', () => {
      fc.assert(
        fc.property(awkwardText, (text) => {
          const stored = encodeText(kind, text)
          expect(decodeText(stored)).toBe(text)
          expect(stored.isWellFormed()).toBe(true)
          if (kind === 'postgres') expect(stored).not.toContain('\0')
          const isStorable =
            text.isWellFormed() &&
            !text.includes('\u241b') &&
            (kind === 'sqlite' || !text.includes('\0'))
          if (isStorable) expect(stored).toBe(text)
        }),
        { numRuns: 500 },
      )
    })

    test('any JSON is encoded as storable text and decoded to the same value', () => {
      const value = fc.oneof(
        awkwardText,
        // V8's JSON.parse reads the key `\\u0000` as `\\` where it has seen an object with that
        // one.
        fc.dictionary(
          awkwardText.filter((key) => !key.includes('\\')),
          awkwardText,
          { noNullPrototype: true },
        ),
        fc.array(awkwardText),
      )
      fc.assert(
        fc.property(value, fc.boolean(), (original, ascii) => {
          const json = ascii ? toAscii(JSON.stringify(original)) : JSON.stringify(original)
          const stored = encodeJson(kind, json)
          expect(JSON.parse(decodeJson(kind, stored))).toEqual(original)
          if (kind === 'postgres')
            expect(JSON.stringify(JSON.parse(stored))).not.toMatch(
              /(?<!\\)(\\\\)*\\u(0000|d[89a-f])/,
            )
        }),
        { numRuns: 500 },
      )
    })
  })
}

/** Everything beyond ASCII as an escape, as some services write JSON. */
function toAscii(json: string): string {
  return json.replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`,
  )
}
