/**
 * Tables and views for analysts beside a mirror of 1,000,000 messages in 50,000 conversations, on
 * SQLite and Postgres: how long they take to build and to keep up to date, how much storage they
 * add, and how fast they answer. Arguments: another number of conversations, and one database alone
 * (sqlite or postgres).
 */

import { openWarehouse } from '../src/app/open.ts'
import { analyzeAllTables } from '../src/warehouse/statistics.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import { seededRandom } from '../test/support/seeded-random.ts'
import { fillPostgres, fillSqlite } from './analytics/fill-mirror.ts'
import { measureLayer } from './analytics/measure-layer.ts'
import { synthesizeProject } from './analytics/synthetic-project.ts'
import { createSchema } from './create-schema.ts'
import { printFigure } from './figures.ts'
import { withTempFolder } from './temp-folder.ts'

const conversations = Number(process.argv[2] ?? 50_000)
const onlyPart = process.argv[3]
const isMeasured = (part: string) => onlyPart === undefined || onlyPart === part

const batches = () => synthesizeProject(conversations, seededRandom(1))

await withTempFolder(async (folder) => {
  const postgres = await startPostgres()
  try {
    if (isMeasured('sqlite'))
      await measureDatabase('SQLite', `sqlite:${folder}/layer.db`, async (url) =>
        fillSqlite(url, batches()),
      )
    if (isMeasured('postgres'))
      await measureDatabase('Postgres', await createSchema(postgres.url, 'layer'), (url) =>
        fillPostgres(url, batches()),
      )
  } finally {
    await postgres.stop()
  }
})

async function measureDatabase(
  name: string,
  url: string,
  fill: (url: string) => Promise<void>,
): Promise<void> {
  const created = await openWarehouse(url)
  await created.close()
  await fill(url)
  const warehouse = await openWarehouse(url)
  const [row] = await warehouse.query('select count(*) as messages from messages')
  printFigure(
    `${name}: messages in ${conversations.toLocaleString('en-US')} conversations`,
    Number(row?.['messages']),
    '',
  )
  await analyzeAllTables(warehouse.db, warehouse.kind)
  await measureLayer(warehouse)
  await warehouse.close()
}
