/**
 * The benchmark of the tables and views for analysts fills a mirror that looks like a real one, and
 * its questions run.
 */
import { expect, onTestFinished, test } from 'vitest'
import { fillPostgres, fillSqlite } from '../../bench/analytics/fill-mirror.ts'
import {
  benchFacts,
  discoverPlan,
  documentedQuestions,
  viewQuestions,
} from '../../bench/analytics/measure-layer.ts'
import { synthesizeProject } from '../../bench/analytics/synthetic-project.ts'
import { databases } from '../support/databases.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { sqlHelpers } from '../warehouse/test-warehouse.ts'

const batches = () => synthesizeProject(60, seededRandom(1))

test('the same seed makes the same rows', () => {
  expect([...batches()]).toEqual([...batches()])
})

for (const db of databases) {
  test(`a small synthetic project has answers to every question of the benchmark (${db.name})`, async () => {
    const database = await db.make()
    onTestFinished(() => database.drop())
    const warehouse = await database.open()
    const url = database.url ?? ''
    if (db.name === 'sqlite') fillSqlite(url, batches())
    else await fillPostgres(url, batches())
    await benchFacts(warehouse).rebuild()
    const { count, list } = sqlHelpers(warehouse)
    expect(await count('messages')).toBeGreaterThan(15 * 60)
    expect(await list('select distinct ended_by from fct_wait order by 1')).toEqual([
      'ai',
      'handled',
      'human',
      'nobody',
    ])
    expect(await count("fct_state where began_by = 'message'")).toBeGreaterThan(0)
    await discoverPlan(warehouse)
    const questions = [...viewQuestions(), ...documentedQuestions()]
    expect(questions.length).toBeGreaterThan(30)
    for (const { sql } of questions) await warehouse.query(sql)
  })
}
