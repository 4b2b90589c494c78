/**
 * One text for each JSON value, whichever database stored it: Postgres reorders members and rewrites numbers, SQLite keeps
 * the text of the service. Members are sorted, numbers keep all of their digits.
 */

import { trimEnd } from './format.ts'
import { parseWith, rawJson } from './json.ts'

/** Number literals that JavaScript may not keep or prints in another form. Has false positives. */
const unusualNumber = /(?:^|[:,[\s])-?(?:\d{16}|[\d.]{16}|\d[\d.]*[eE]|0\.0{6})/

const isRawJson: (value: unknown) => value is { readonly rawJSON: string } = Reflect.get(JSON, 'isRawJSON')

/** A text that is not JSON is returned as it is. */
export function toCanonicalJson(text: string): string {
  try {
    return stringify(unusualNumber.test(text) ? parseWith(text, keepDigits) : JSON.parse(text))
  } catch (error) {
    // A RangeError: nested too deeply for the stack.
    if (error instanceof SyntaxError || error instanceof RangeError) return text
    throw error
  }
}

function keepDigits(_key: string, value: unknown, { source }: { readonly source?: string }): unknown {
  return typeof value === 'number' && source !== undefined ? rawJson(toPlainNumber(source)) : value
}

function stringify(value: unknown): string {
  if (isRawJson(value)) return value.rawJSON
  if (Array.isArray(value)) return `[${value.map(stringify).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${stringify(member)}`).join(',')}}`
}

/** Beyond this many zeros a number keeps an exponent. */
const maxZeros = 400

/** `1.50` and `15e-1` are `1.5`; `1e22` is 1 and 22 zeros. */
export function toPlainNumber(literal: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  const significant = trimEnd(digits, '0')
  if (significant === '') return '0'
  const scale = Number(exponent) - fraction.length + digits.length - significant.length
  return sign + placePoint(significant, scale)
}

/** The number `digits` × 10^`scale`. */
function placePoint(digits: string, scale: number): string {
  if (Math.abs(scale) > maxZeros) return `${digits}e${scale}`
  if (scale >= 0) return digits + '0'.repeat(scale)
  const padded = digits.padStart(1 - scale, '0')
  return `${padded.slice(0, scale)}.${padded.slice(scale)}`
}
