/** The fast form of `rfc3339` writes the same texts. */
import { expect, test } from 'vitest'
import { timeText } from '../../../src/analytics/sql/fact-rows.ts'
import { rfc3339 } from '../../../src/values/time.ts'
import { seededRandom } from '../../support/seeded-random.ts'

test('every second that a database stores has the text of rfc3339', () => {
  const random = seededRandom(7)
  const [first, last] = [Date.parse('0001-01-01T00:00:00Z') / 1000, Date.parse('9999-12-31T23:59:59Z') / 1000]
  const times = Array.from({ length: 50_000 }, () => first + Math.floor(random() * (last - first)))
  const wrong = [first, last, -1, 0, 59, 86_399, 86_400, ...times].filter((at) => timeText(at) !== rfc3339(at))
  expect(wrong).toEqual([])
})
