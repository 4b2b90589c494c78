import { expect, test } from 'vitest'
import { fillMissingTimes } from '../../../../src/mirror/core/pagination/sort-order.ts'

const timesOf = (second: number | null) =>
  new Map(Object.entries(second === null ? { other: 5 } : { at: second, other: 5 }))
const at = (...seconds: (number | null)[]) => seconds.map(timesOf)

test('an unreadable time is filled in from the neighbours', () => {
  const page = at(...Array.from({ length: 20 }, (_, i) => (i === 7 ? null : i)))
  expect(fillMissingTimes(page, (row) => row === 7).map((row) => row.get('at'))[7]).toBe(6)
})

test('a row without any time gets all times of its neighbours', () => {
  const page = [...at(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), new Map<string, number>()]
  expect(fillMissingTimes(page, () => false).at(-1)).toEqual(timesOf(10))
})

test('a time that is absent, not unreadable, is not filled in', () => {
  const page = at(...Array.from({ length: 20 }, (_, i) => (i === 7 ? null : i)))
  expect(fillMissingTimes(page, () => false).map((row) => row.has('at'))).toContain(false)
})
