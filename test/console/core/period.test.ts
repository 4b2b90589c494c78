import { describe, expect, test } from 'vitest'
import { choosePeriod, parseOrder, sortLink, sortRows } from '../../../src/console/core/period.ts'

const choose = (asked: Readonly<Record<string, string>>) =>
  choosePeriod((name) => asked[name] ?? null, '2026-11-27')
const daysOf = (asked: Readonly<Record<string, string>>) => {
  const { from, to } = choose(asked)
  return `${from} ${to}`
}

describe('a period', () => {
  test.each<[string, Readonly<Record<string, string>>, string]>([
    ['is the last four weeks', {}, '2026-10-31 2026-11-27'],
    [
      'is what the address names',
      { from: '2026-01-01', to: '2026-01-31' },
      '2026-01-01 2026-01-31',
    ],
    ['without an end lasts until today', { from: '2026-11-20' }, '2026-11-20 2026-11-27'],
    ['without a beginning has four weeks', { to: '2026-01-28' }, '2026-01-01 2026-01-28'],
    [
      'in the wrong order is exchanged',
      { from: '2026-02-01', to: '2026-01-01' },
      '2026-01-01 2026-02-01',
    ],
    [
      'of many years has the last 366 days',
      { from: '1999-01-01', to: '2026-01-01' },
      '2025-01-01 2026-01-01',
    ],
    [
      'of no calendar is none',
      { from: '2026-02-30', to: "'; drop table" },
      '2026-10-31 2026-11-27',
    ],
  ])('%s', (_, asked, days) => {
    expect(daysOf(asked)).toBe(days)
  })

  test('says that it is not all that was asked for', () => {
    const asked = [{ from: '1999-01-01', to: '2026-01-01' }, { from: '2025-11-27' }]
    expect(asked.map((dates) => choose(dates).isCut)).toEqual([true, false])
  })

  test('is kept from page to page only if the address names it', () => {
    expect(choose({ agent: 'Ann' }).query).toEqual({ from: null, to: null, agent: 'Ann' })
    expect(choose({ from: '2026-11-20' }).query).toEqual({
      from: '2026-11-20',
      to: '2026-11-27',
      agent: null,
    })
  })
})

test('rows are sorted by numbers as numbers, with what has no value last, and by the key where they are equal', () => {
  const rows = [
    { name: 'b', count: 10 },
    { name: 'c', count: null },
    { name: 'a', count: 10 },
    { name: 'd', count: 9 },
  ]
  const namesBy = (sort: string) =>
    sortRows(rows, parseOrder(sort, ['name', 'count'], 'name'), ['name']).map(({ name }) => name)
  expect(
    [namesBy('-count'), namesBy('count'), namesBy('-name')].map((names) => names.join('')),
  ).toEqual(['abdc', 'dabc', 'dcba'])
  expect(parseOrder('-raw', ['name'], '-name')).toEqual({ column: 'name', isDescending: true })
})

test('a title sorts the other way round where its column sorts already, and numbers by the largest first', () => {
  const now = { column: 'count', isDescending: true }
  expect([sortLink('count', true, now, String), sortLink('other', true, now, String)]).toEqual([
    { to: 'count', order: 'descending' },
    { to: '-other', order: 'none' },
  ])
  expect(sortLink('name', false, now, String).to).toBe('name')
})
