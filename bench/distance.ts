/**
 * A first sync into a Postgres that is not next door, and write-backs from it: how many a minute
 * with a delay on the way, without a rate limit. Goals: 2,000 requests at 10 ms for a round trip,
 * 700 at 30 ms, and 120 write-backs.
 */
import { openWarehouse } from '../src/app/open.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import { runCommand, runSync } from './command.ts'
import { createSchema } from './create-schema.ts'
import { startDelayingProxy } from './delaying-proxy.ts'
import { printFigure } from './figures.ts'
import { startSandboxProcess } from './sandbox.ts'

const goals: Readonly<Record<number, string>> = { 0: '', 10: 'goal: 2,000', 30: 'goal: 700' }

const writebacks = 150
const size = { messages: 20, visitors: 200, calls: 100, activity: 20, days: 5 }
const service = await startSandboxProcess(200, size)
const server = await startPostgres()
try {
  for (const [delay, goal] of Object.entries(goals)) {
    const proxy = await startDelayingProxy(server.url, Number(delay))
    const url = await createSchema(server.url, `distance_${delay}`)
    const proxied = url.replace(server.url, proxy.url)
    const { report } = await runSync(service, proxied)
    const perMinute = (report.requests / report.tookMs) * 60_000
    printFigure(`requests a minute at ${delay} ms`, perMinute, '', goal)
    const sent = await measureWritebacks(url, proxied)
    printFigure(`write-backs a minute at ${delay} ms`, sent, '', 'goal: 120')
    proxy.close()
  }
} finally {
  await server.stop()
  await service.stop()
}

async function measureWritebacks(url: string, proxied: string): Promise<number> {
  const warehouse = await openWarehouse(url)
  await warehouse.query(`insert into writebacks (project_id, operation, conversation_id, payload)
    select project_id, 'handled', id, '{"handled":true}' from conversations order by id
    limit ${writebacks}`)
  await warehouse.close()
  const { tookMs } = await runCommand(['push', '--json', '--quiet'], service, proxied)
  return (writebacks / tookMs) * 60_000
}
