/**
 * Tables and views for analysts beside a mirror of 1,000,000 messages in 50,000 conversations, on SQLite and Postgres: how
 * long they take to build and to keep up to date, how much storage they add, and how fast they answer. Then a first sync:
 * with `BASELINE`, the folder of another checkout, how much longer it takes than there. An argument is another number of
 * conversations.
 */
import { join } from 'node:path'
import { openWarehouse } from '../src/warehouse/open.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import { seededRandom } from '../test/support/seeded-random.ts'
import { fillPostgres, fillSqlite } from './analytics/fill-mirror.ts'
import { measureLayer } from './analytics/measure-layer.ts'
import { synthesizeProject } from './analytics/synthetic-project.ts'
import { runSync } from './command.ts'
import { createSchema } from './create-schema.ts'
import { median, printFigure } from './figures.ts'
import { launcher, messagesEach, startSandboxProcess } from './sandbox.ts'
import { withTempFolder } from './temp-folder.ts'

const conversations = Number(process.argv[2] ?? 50_000)
const syncedMessages = 4 * conversations
const syncRuns = 3
const baseline = process.env['BASELINE']

const batches = () => synthesizeProject(conversations, seededRandom(1))

await withTempFolder(async (folder) => {
  const postgres = await startPostgres()
  try {
    await measureDatabase('SQLite', `sqlite:${folder}/layer.db`, async (url) => fillSqlite(url, batches()))
    await measureDatabase('Postgres', await createSchema(postgres.url, 'layer'), (url) => fillPostgres(url, batches()))
    await measureFirstSyncs(folder, (name) => createSchema(postgres.url, name))
  } finally {
    await postgres.stop()
  }
})

async function measureDatabase(name: string, url: string, fill: (url: string) => Promise<void>): Promise<void> {
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
  await warehouse.analyzeTables()
  await measureLayer(warehouse)
  await warehouse.close()
}

/** Alternating, so that other work on the machine affects both. */
async function measureFirstSyncs(folder: string, createPostgres: (name: string) => Promise<string>): Promise<void> {
  const service = await startSandboxProcess(syncedMessages / messagesEach)
  const seconds = async (program: string, url: string) => (await runSync(service, url, program)).report.tookMs / 1000
  try {
    for (const [name, urlOf] of [
      ['SQLite', async (run: string) => `sqlite:${folder}/${run}.db`],
      ['Postgres', createPostgres],
    ] as const) {
      const own: number[] = []
      const ratios: number[] = []
      for (let n = 0; n < syncRuns; n++) {
        const took = await seconds(launcher, await urlOf(`own_${n}`))
        own.push(took)
        if (baseline === undefined) continue
        ratios.push(took / (await seconds(join(baseline, 'bin/deskmirror.js'), await urlOf(`baseline_${n}`))))
      }
      const title = `${name}: first sync of ${syncedMessages.toLocaleString('en-US')} messages`
      printFigure(title, median(own), 's')
      if (ratios.length > 0) printFigure('  beside the baseline', median(ratios), 'times', 'goal: at most 1.1')
    }
  } finally {
    await service.stop()
  }
}
