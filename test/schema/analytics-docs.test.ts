/**
 * The questions of docs/analytics.md can be asked of every database, and the definitions name only
 * what exists.
 */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { analyticsObjects } from '../../src/analytics/views/all-views.ts'
import { openViewsWarehouse } from '../analytics/sql/view-fixtures.ts'
import { databases } from '../support/databases.ts'

const root = new URL('../..', import.meta.url).pathname
const text = readFileSync(`${root}/docs/analytics.md`, 'utf8')
const sections = text.split('\n## ').slice(1)
const questions = sections.filter((section) => section.includes('```sql'))
const queriesOf = (section: string) =>
  [...section.matchAll(/```sql\n(.*?)```/gs)].map(([, query = '']) => query)

test('each question has a query, and a short answer', () => {
  expect(questions.length).toBeGreaterThan(13)
  for (const question of questions) {
    expect(question.split('\n')[0]).toMatch(/\?$/)
    expect(question.split('\n').length, question.slice(0, 40)).toBeLessThan(30)
  }
})

test('the definitions name columns and views that exist', () => {
  const names = new Set(
    analyticsObjects.flatMap(({ name, columns }) => [name, ...Object.keys(columns)]),
  )
  const [, definitions = ''] = readFileSync(`${root}/docs/comparison.md`, 'utf8').split(
    '## How our definitions differ',
  )
  const metrics = definitions
    .split('\n')
    .flatMap((line) => (line.startsWith('| ') ? [line.split('|')[1] ?? ''] : []))
  expect(metrics.length).toBeGreaterThan(8)
  for (const metric of metrics)
    for (const [, name = ''] of metric.matchAll(/`(\w+)`/g)) expect(names, metric).toContain(name)
})

for (const db of databases) {
  test(`every query of docs/analytics.md can be run — ${db.name}`, async () => {
    const { all } = await openViewsWarehouse(db)
    for (const query of questions.flatMap(queriesOf))
      await expect(all(query), query).resolves.toBeInstanceOf(Array)
  })
}
