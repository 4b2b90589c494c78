/** The data dictionary describes every table and every column, and its queries work. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type TableSpec, tables } from '../../schema/tables.ts'
import { databases } from '../support/databases.ts'

const root = new URL('../..', import.meta.url).pathname
const text = readFileSync(`${root}/docs/warehouse.md`, 'utf8')
const sectionOf = (table: string) => text.split(`\n### ${table}\n`)[1]?.split('\n### ')[0] ?? ''

test('the dictionary describes every table and every column', () => {
  for (const [table, { note, columns }] of Object.entries<TableSpec>(tables)) {
    expect(sectionOf(table), table).toContain(note)
    for (const [column, [, meaning]] of Object.entries(columns)) {
      const line = sectionOf(table)
        .split('\n')
        .find((text) => text.startsWith(`| \`${column}\` |`))
      expect(line, `${table}.${column}`).toContain(meaning)
    }
  }
})

test('the dictionary is up to date', () => {
  const { status, stderr } = spawnSync(process.execPath, ['schema/dictionary.ts', '--check'], { cwd: root })
  expect({ status, stderr: String(stderr) }).toEqual({ status: 0, stderr: '' })
})

for (const db of databases.filter(({ name }) => name !== 'postgres')) {
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
  }, 30_000)
}
