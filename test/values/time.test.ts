/** Times of the service. */
import { expect, test } from 'vitest'
import { isNormalizedTime, parseTime, rfc3339 } from '../../src/values/time.ts'

const twoDigits = (number: number) => String(number).padStart(2, '0')
const days = Array.from({ length: 13 * 33 }, (_, n) =>
  [Math.floor(n / 33), n % 33].map(twoDigits).join('-'),
)

test.for([2026, 2028])('a text is stored as it is only if its day exists, %i', (year) => {
  const texts = days.map((day) => `${year}-${day}T23:59:59Z`)
  expect(texts.filter((text) => parseTime(text) !== undefined)).toHaveLength(
    year === 2028 ? 366 : 365,
  )
  const exact = texts.filter((text) => rfc3339(parseTime(text) ?? 0) === text)
  expect(exact).toHaveLength(year === 2028 ? 366 : 365)
  expect(texts.filter(isNormalizedTime)).toEqual(exact.filter((text) => !text.includes('-02-29')))
})
