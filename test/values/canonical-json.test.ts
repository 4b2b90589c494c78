/** The text of a JSON value does not depend on how a database stored it. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toCanonicalJson, toPlainNumber } from '../../src/values/json.ts'

test.each([
  ['{"b":1,"a":{"d":2,"c":[3,4]}}', '{"a":{"c":[3,4],"d":2},"b":1}'],
  ['{ "a" : "\\u00e9\\/" }', '{"a":"é/"}'],
  ['"\\ud800"', '"\\ud800"'],
  [
    '[1.50, 15e-1, 1E2, -0, -0.0, 1e22, 12345678901234567890, 0.10000000000000000001]',
    '[1.5,1.5,100,0,0,10000000000000000000000,12345678901234567890,0.10000000000000000001]',
  ],
  ['0.0000001', '0.0000001'],
  ['1e-7', '0.0000001'],
  ['1e999', '1e999'],
  ['{"__proto__":{"a":1},"2":1,"1":2}', '{"1":2,"2":1,"__proto__":{"a":1}}'],
  ['not JSON', 'not JSON'],
])('%s', (text, canonical) => {
  expect(toCanonicalJson(text)).toBe(canonical)
  expect(toCanonicalJson(canonical)).toBe(canonical)
})

test('it is JSON of the same value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value)
      expect(JSON.parse(toCanonicalJson(text))).toEqual(JSON.parse(text))
    }),
  )
})

test('a number without exponent is the same number', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      expect(Number(toPlainNumber(String(value)))).toBe(value === 0 ? 0 : value)
    }),
  )
})
