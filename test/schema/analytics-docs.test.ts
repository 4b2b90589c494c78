/** The questions of docs/analytics.md can be asked of every database, and name only what exists. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { analyticsObjects } from '../../schema/analytics-views/layer.ts'
import { sqliteAndPostgres } from '../support/databases.ts'
import { openViewsWarehouse } from '../warehouse/analytics/view-fixtures.ts'

const root = new URL('../..', import.meta.url).pathname
const text = readFileSync(`${root}/docs/analytics.md`, 'utf8')
const sections = text.split('\n## ').slice(1)
const questions = sections.filter((section) => section.includes('```sql'))
const queriesOf = (section: string) => [...section.matchAll(/```sql\n(.*?)```/gs)].map(([, query = '']) => query)

test('each question has a query, and says what its answer means and does not', () => {
  expect(questions.length).toBeGreaterThan(14)
  for (const question of questions) {
    expect(question.split('\n')[0]).toMatch(/\?$/)
    expect(question).toContain('**Means:**')
    expect(question).toContain('**Does not mean:**')
    // One screen.
    expect(question.split('\n').length, question.slice(0, 40)).toBeLessThan(56)
  }
})

test('the definitions name columns and views that exist', () => {
  const names = new Set(analyticsObjects.flatMap(({ name, columns }) => [name, ...Object.keys(columns)]))
  const rows = (sections.find((section) => section.startsWith('Definitions')) ?? '')
    .split('\n')
    .filter((line) => line.startsWith('| '))
  expect(rows.length).toBeGreaterThan(15)
  for (const row of rows.slice(2)) {
    const [, metric = '', here = ''] = row.split('|')
    for (const [, name = ''] of `${metric} ${here}`.matchAll(/`(\w+)`/g)) expect(names, row).toContain(name)
  }
})

for (const db of sqliteAndPostgres) {
  test(`every query of docs/analytics.md can be run — ${db.name}`, async () => {
    const { all } = await openViewsWarehouse(db)
    for (const query of questions.flatMap(queriesOf)) await expect(all(query), query).resolves.toBeInstanceOf(Array)
  })
}
