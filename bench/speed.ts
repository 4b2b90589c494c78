/**
 * Speed of a first sync end to end, with the service in its own process. Goals: 10,000 message rows
 * a second into SQLite, 7,000 into Postgres.
 */
import { startPostgres } from '../test/support/postgres-server.ts'
import { runSync } from './command.ts'
import { createSchema } from './create-schema.ts'
import { median, printFigure } from './figures.ts'
import { messagesEach, startSandboxProcess } from './sandbox.ts'
import { withTempFolder } from './temp-folder.ts'

const messages = 200_000
const runs = 3

const service = await startSandboxProcess(messages / messagesEach)
try {
  const sqlite = await repeatRuns((n) =>
    withTempFolder((folder) => firstSyncRate(`sqlite:${folder}/${n}.db`)),
  )
  printFigure(
    'message rows a second into SQLite, end to end',
    median(sqlite),
    'rows/s',
    'goal: at least 10,000, five times what the service lets through',
  )
  const server = await startPostgres()
  try {
    const postgres = await repeatRuns(async (n) =>
      firstSyncRate(await createSchema(server.url, `bench_${n}`)),
    )
    printFigure(
      'message rows a second into Postgres, end to end',
      median(postgres),
      'rows/s',
      'goal: at least 7,000',
    )
    printFigure('Postgres beside SQLite', median(postgres) / median(sqlite), 'times')
  } finally {
    await server.stop()
  }
} finally {
  await service.stop()
}

async function repeatRuns(run: (n: number) => Promise<number>): Promise<number[]> {
  const found: number[] = []
  for (let n = 0; n < runs; n++) found.push(await run(n))
  return found
}

async function firstSyncRate(databaseUrl: string): Promise<number> {
  const synced = await runSync(service, databaseUrl)
  return (synced.messages / synced.report.tookMs) * 1000
}
