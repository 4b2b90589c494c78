/** The data dictionary says what the warehouse is: every table, every column, and questions that it answers. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type TableSpec, tables } from '../../schema/tables.ts'
import { databases } from '../support/databases.ts'

const root = new URL('../..', import.meta.url).pathname
const text = readFileSync(`${root}/docs/warehouse.md`, 'utf8')
const sectionOf = (table: string) => text.split(`\n### ${table}\n`)[1]?.split('\n### ')[0] ?? ''

test('the dictionary names every table and every column, with what it means', () => {
  for (const [table, { note, columns }] of Object.entries<TableSpec>(tables)) {
    expect(sectionOf(table), table).toContain(note)
    for (const [column, [, meaning]] of Object.entries(columns)) {
      const line = sectionOf(table)
        .split('\n')
        .find((one) => one.startsWith(`| \`${column}\` |`))
      expect(line, `${table}.${column}`).toContain(meaning)
    }
  }
})

test('the dictionary is made from the tables as they are now', () => {
  const { status, stderr } = spawnSync(process.execPath, ['schema/dictionary.ts', '--check'], { cwd: root })
  expect({ status, stderr: String(stderr) }).toEqual({ status: 0, stderr: '' })
})

for (const db of databases.filter(({ name }) => name !== 'postgres')) {
  test(`every question of the dictionary can be asked — ${db.name}`, async () => {
    const place = await db.make()
    try {
      const warehouse = await place.open()
      const questions = [...text.matchAll(/```sql\n(.*?)```/gs)].map(([, question = '']) => question)
      expect(questions.length).toBeGreaterThan(4)
      for (const question of questions) expect(await warehouse.query(question)).toEqual([])
    } finally {
      await place.drop()
    }
  }, 30_000)
}
