/** Lossless JSON. */
import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Json } from '../../src/values/json.ts'
import { parseJson, stringifyJson } from '../../src/values/json.ts'

test.for<[string, Json]>([
  ['9007199254740991', 9007199254740991],
  ['9007199254740993', 9007199254740993n],
  ['-9007199254740993', -9007199254740993n],
  ['[1,12345678901234567890]', [1, 12345678901234567890n]],
  ['{"id": 9007199254740992}', { id: 9007199254740992n }],
  ['{"text":"9007199254740993","n":1}', { text: '9007199254740993', n: 1 }],
  ['0.1234567890123456', 0.1234567890123456],
  ['1e3', 1000],
  ['[1e400, -1.5E+999]', ['1e400', '-1.5E+999']],
  ['"a, 1e400"', 'a, 1e400'],
  ['{"a":[{"b":[1,9007199254740993]}],"c":0.5}', { a: [{ b: [1, 9007199254740993n] }], c: 0.5 }],
])('%s is parsed exactly', ([text, value]) => {
  expect(parseJson(text)).toEqual(value)
})

test.for(['', '{', '[1,]', '{"a":9007199254740993', 'NaN', '<html>'])(
  '%j is refused as JSON.parse refuses it',
  (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError)
  },
)

test('values may have any number of levels', () => {
  const levels = 100_000
  let value = parseJson('['.repeat(levels) + ']'.repeat(levels))
  for (let level = 1; level < levels; level++) value = (value as readonly Json[])[0] as Json
  expect(value).toEqual([])
})

describe('round trip', () => {
  const scalar = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.boolean(),
    fc.constant(null),
    fc.integer(),
    fc.maxSafeInteger(),
    fc
      .double({ noNaN: true, noDefaultInfinity: true })
      .filter((value) => !Object.is(value, -0) && !isBigInteger(value)),
    fc
      .bigInt()
      .filter((value) => value > Number.MAX_SAFE_INTEGER || value < Number.MIN_SAFE_INTEGER),
    fc.stringMatching(/^[:,[ ]-?[0-9]{16,20}$/),
  )
  const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'medium', withCrossShrink: true },
      scalar,
      fc.array(tie('tree')),
      fc.dictionary(fc.string(), tie('tree'), { noNullPrototype: true }) as fc.Arbitrary<Json>,
    ),
  }))

  test('a value that was written is read back equal', () => {
    fc.assert(
      fc.property(tree, (value) => {
        // Vitest's own comparison takes ten times as long.
        deepStrictEqual(parseJson(stringifyJson(value)), value)
      }),
      { numRuns: 200 },
    )
  })

  test('text without such numbers is read as JSON.parse reads it', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const plain = JSON.parse(text)
        expect(JSON.parse(stringifyJson(parseJson(text)))).toEqual(plain)
      }),
      { numRuns: 200 },
    )
  })
})

/** A double beyond 2^53 is written as an integer, and read as one. */
function isBigInteger(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < 1e21
}
