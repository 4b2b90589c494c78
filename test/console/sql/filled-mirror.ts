/** A mirror with rows, on one database, as the pages read it. */
import { createProjectFacts } from '../../../src/analytics/sql/project-facts.ts'
import { openMirror } from '../../../src/app/facts.ts'
import { defaultProject } from '../../../src/config/config.ts'
import { secret } from '../../../src/values/secret.ts'
import type { TestDatabase } from '../../support/databases.ts'
import { commitRows, type StreamRows } from '../../warehouse/row-fixtures.ts'

export const settings = defaultProject({
  name: 'main',
  projectId: 'main',
  baseUrl: new URL('https://x.example'),
  apiKey: secret('x'),
})

/** `refresh`: derives the facts. */
export async function openFilledMirror(db: TestDatabase, rows: StreamRows) {
  const { open, drop } = await db.make()
  const warehouse = await open()
  const reads = warehouse.projectDb('main')
  const main = openMirror(warehouse, 'main')
  await commitRows(main, rows)
  const refresh = () => createProjectFacts(reads, settings).refresh()
  return { warehouse, reads, main, refresh, drop }
}
