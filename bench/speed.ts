/** Speed of a first sync end to end, the service in a process of its own. Goal: 15,000 message rows a second. */
import { startPostgres } from '../test/support/postgres-server.ts'
import { sync } from './command.ts'
import { median, print } from './figures.ts'
import { inFolder } from './folder.ts'
import { ownSchema } from './own-schema.ts'
import { messagesEach, startService } from './sandbox.ts'

const messages = 200_000
const rounds = 3

const service = await startService(messages / messagesEach)
try {
  const sqlite = await speeds((n) => inFolder((folder) => first(`sqlite:${folder}/${n}.db`)))
  print('message rows a second into SQLite, end to end', median(sqlite), 'rows/s', 'goal: at least 15,000')
  const server = await startPostgres()
  try {
    const postgres = await speeds(async (n) => first(await ownSchema(server.url, `bench_${n}`)))
    print('message rows a second into Postgres, end to end', median(postgres), 'rows/s')
    print('Postgres beside SQLite', median(postgres) / median(sqlite), 'times')
  } finally {
    await server.stop()
  }
} finally {
  await service.stop()
}

async function speeds(round: (n: number) => Promise<number>): Promise<number[]> {
  const found: number[] = []
  for (let n = 0; n < rounds; n++) found.push(await round(n))
  return found
}

async function first(databaseUrl: string): Promise<number> {
  const synced = await sync(service, databaseUrl)
  return (synced.messages / synced.report.tookMs) * 1000
}
