/** The words of texts, which are searched. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { wordsOf } from '../../../src/analytics/core/search-words.ts'

test.each([
  ['in lower case, without accents', 'Där är ÉTÉ, Straße 12', ['dar', 'ar', 'ete', 'straße', '12']],
  ['each once', 'again Again AGAIN', ['again']],
  ['at most 40 characters of a long one', 'x'.repeat(50), ['x'.repeat(40)]],
  ['each character of a script without spaces', '東京 ok', ['東', '京', 'ok']],
])('words are found %s', (_how, text, words) => {
  expect([...wordsOf([text])]).toEqual(words)
})

test('a text has the same words whether or not another character makes the way longer', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary-ascii', maxLength: 200 }), (text) => {
      expect([...wordsOf([`${text} ☃`])]).toEqual([...wordsOf([text])])
    }),
  )
})
