/**
 * Tables and views for analysts beside a mirror of 1,000,000 messages in 50,000 conversations, on SQLite and Postgres: how
 * long they take to build and to keep up to date, how much storage they add, and how fast they answer. Then a first sync:
 * with `BASELINE`, the folder of another checkout, how much longer it takes than there. Arguments: another number of
 * conversations, and one part alone (sqlite, postgres, sync-sqlite or sync-postgres). `limit-postgres` runs only when it is
 * named: the same first syncs at the service's limit of 600 requests a minute.
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
import { launcher, type SandboxProcess, startSandboxProcess } from './sandbox.ts'
import { withTempFolder } from './temp-folder.ts'

const conversations = Number(process.argv[2] ?? 50_000)
const onlyPart = process.argv[3]
const isMeasured = (part: string) => onlyPart === undefined || onlyPart === part
/** The mirror's shape, in a twentieth of its size; and conversations of five times the length, all of them in two months. */
const syncs = [
  { conversations: conversations / 20, messages: 20, days: 730 },
  { conversations: conversations / 50, messages: 100, days: 60 },
] as const
const baseline = process.env['BASELINE']

const batches = () => synthesizeProject(conversations, seededRandom(1))

await withTempFolder(async (folder) => {
  const postgres = await startPostgres()
  try {
    if (isMeasured('sqlite'))
      await measureDatabase('SQLite', `sqlite:${folder}/layer.db`, async (url) => fillSqlite(url, batches()))
    if (isMeasured('postgres'))
      await measureDatabase('Postgres', await createSchema(postgres.url, 'layer'), (url) =>
        fillPostgres(url, batches()),
      )
    if (isMeasured('sync-sqlite')) await measureFirstSyncs('SQLite', async (name) => `sqlite:${folder}/${name}.db`)
    if (isMeasured('sync-postgres')) await measureFirstSyncs('Postgres', (name) => createSchema(postgres.url, name))
    if (onlyPart === 'limit-postgres')
      await measureFirstSyncs('Postgres, at the limit', (name) => createSchema(postgres.url, name), '600/60s', 1)
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

async function measureFirstSyncs(
  database: string,
  createDatabase: CreateDatabase,
  rate?: string,
  runs = 3,
): Promise<void> {
  for (const { conversations, messages, days } of syncs) {
    const unlimited = await startSandboxProcess(conversations, { messages, days })
    const environment = { ...unlimited.environment, ...(rate === undefined ? {} : { DESKMIRROR_RATE: rate }) }
    const service = { ...unlimited, environment }
    try {
      const title = `${database}: first sync of ${conversations} conversations of ${messages} messages, ${days} days`
      await measureFirstSync(service, title, runs, (name) => createDatabase(`${name}_${messages}`))
    } finally {
      await service.stop()
    }
  }
}

type CreateDatabase = (name: string) => Promise<string>

/** Alternating, so that other work on the machine affects both. */
async function measureFirstSync(
  service: SandboxProcess,
  title: string,
  runs: number,
  createDatabase: CreateDatabase,
): Promise<void> {
  const seconds = async (program: string, name: string) =>
    (await runSync(service, await createDatabase(name), program)).report.tookMs / 1000
  const own: number[] = []
  const ratios: number[] = []
  for (let n = 0; n < runs; n++) {
    const took = await seconds(launcher, `own_${n}`)
    own.push(took)
    if (baseline === undefined) continue
    ratios.push(took / (await seconds(join(baseline, 'bin/deskmirror.js'), `baseline_${n}`)))
  }
  printFigure(title, median(own), 's')
  if (ratios.length > 0) printFigure('  beside the baseline', median(ratios), 'times', 'goal: at most 1.1')
}
