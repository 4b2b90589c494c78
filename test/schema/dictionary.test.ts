/** The data dictionary describes every table and every column, and its queries work. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { analyticsViews } from '../../schema/analytics-views/all-views.ts'
import type { AnalyticsView } from '../../schema/analytics-views/analytics-view.ts'
import { analyticsObjects } from '../../schema/analytics-views/layer.ts'
import { relationOf } from '../../schema/analytics-views/relations.ts'
import { type TableSpec, tables } from '../../schema/tables.ts'
import { sqliteAndPostgres } from '../support/databases.ts'

const root = new URL('../..', import.meta.url).pathname
const text = readFileSync(`${root}/docs/warehouse.md`, 'utf8')
const dictionary = text + readFileSync(`${root}/docs/analytics-objects.md`, 'utf8')
const sectionOf = (table: string) => dictionary.split(`\n### ${table}\n`)[1]?.split('\n### ')[0] ?? ''
const lineOf = (table: string, column: string) =>
  sectionOf(table)
    .split('\n')
    .find((line) => line.startsWith(`| \`${column}\` |`))

test('the dictionary describes every table and every column', () => {
  for (const [table, { note, columns }] of Object.entries<TableSpec>(tables)) {
    expect(sectionOf(table), table).toContain(note)
    for (const [column, [, meaning]] of Object.entries(columns)) {
      expect(lineOf(table, column), `${table}.${column}`).toContain(meaning)
    }
  }
})

test('the list of objects for analysts describes every view and every column', () => {
  for (const [view, { note, caveat, columns }] of Object.entries<AnalyticsView>(analyticsViews)) {
    expect(sectionOf(view), view).toContain(note)
    expect(sectionOf(view), view).toContain(caveat ?? note)
    for (const [column, described] of Object.entries(columns)) {
      expect(lineOf(view, column), `${view}.${column}`).toContain(described.note)
    }
  }
})

test('every relation leads to a column that exists', () => {
  for (const { name, columns } of analyticsObjects) {
    for (const [column, { role }] of Object.entries(columns)) {
      const relation = relationOf(name, column)
      if (relation === null) continue
      expect(role, `${name}.${column}`).not.toBe('measure')
      const target = analyticsObjects.find((object) => object.name === relation.object)
      expect(Object.keys(target?.columns ?? {}), `${name} → ${relation.object}`).toContain(relation.column)
    }
  }
})

test('the dictionary is up to date', () => {
  const { status, stderr } = spawnSync(process.execPath, ['schema/dictionary.ts', '--check'], { cwd: root })
  expect({ status, stderr: String(stderr) }).toEqual({ status: 0, stderr: '' })
})

for (const db of sqliteAndPostgres) {
  test(`every query of the dictionary can be run — ${db.name}`, async () => {
    const database = await db.make()
    try {
      const warehouse = await database.open()
      const questions = [...text.matchAll(/```sql\n(.*?)```/gs)].map(([, question = '']) => question)
      expect(questions.length).toBeGreaterThan(4)
      for (const question of questions) expect(await warehouse.query(question)).toEqual([])
    } finally {
      await database.drop()
    }
  })
}
