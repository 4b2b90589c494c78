/**
 * 200 projects with their own keys on one worker, ten of them with a first mirror of thousands of
 * conversations: how old does each mirror get? The lag of a project is the greatest age of any of
 * its lists during the measured minutes. SQLite and the embedded queue leave the worker the fewest
 * resources.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stringify } from 'yaml'
import { openWarehouse, type Warehouse } from '../src/app/open.ts'
import { type Sandbox, startSandbox } from '../src/sandbox/sandbox.ts'
import { printFigure } from './figures.ts'
import { createDistribution } from './fleet/distribution.ts'
import { processCpuMs } from './fleet/postgres-use.ts'
import { launcher } from './sandbox.ts'
import { withTempFolder } from './temp-folder.ts'

const [projects, busy, periodMs, measuredMs] = [200, 10, 30_000, 180_000]
const small = { conversations: 20, visitors: 15, calls: 10, days: 20 }
const large = { conversations: 3000, visitors: 1500, calls: 600, days: 200 }
const sizeOf = (n: number) => (n < busy ? large : small)
const keyOf = (n: number) => `svc_live_bench_${n}`

await withTempFolder(async (folder) => {
  const others = Array.from({ length: projects - 1 }, (_, n) => ({
    seed: n + 2,
    size: sizeOf(n + 1),
    keys: [{ key: keyOf(n + 1) }],
  }))
  const sandbox = await startSandbox({
    seed: 1,
    size: sizeOf(0),
    keys: [{ key: keyOf(0) }],
    projects: others,
    switches: { 'latency.after': 50 },
  })
  const databaseUrl = `sqlite:${join(folder, 'mirror.db')}`
  writeFileSync(join(folder, 'deskmirror.yaml'), configYaml(sandbox, databaseUrl))
  const env = {
    ...process.env,
    ...Object.fromEntries(sandbox.projectIds.map((_, n) => [`KEY_${n}`, keyOf(n)])),
  }
  const worker = spawn(process.execPath, [launcher, 'start'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  try {
    await once(worker.stdout, 'data')
    const warehouse = await openWarehouse(databaseUrl, { access: 'read' })
    const startedAt = Date.now()
    while ((await listAges(warehouse)).size < projects) await sleep(1000)
    printFigure('first read of all lists of all projects', (Date.now() - startedAt) / 1000, 's')
    await sleep(2 * periodMs)
    const cpu = processCpuMs(worker.pid ?? 0)
    const worst = await measureWorstLag(warehouse)
    printFigure(
      'CPU of the worker',
      (100 * (processCpuMs(worker.pid ?? 0) - cpu)) / measuredMs,
      '% of one core',
    )
    printLags(worst, await countBackloggedProjects(warehouse))
    await warehouse.close()
  } finally {
    worker.kill()
    await once(worker, 'exit')
    await sandbox.stop()
  }
})

function configYaml(sandbox: Sandbox, databaseUrl: string): string {
  const named = sandbox.projectIds.map((id, n) => [
    `p${n}`,
    { project_id: id, api_key: { env: `KEY_${n}` } },
  ])
  return stringify({
    database_url: databaseUrl,
    http: 'off',
    base_url: sandbox.baseUrl,
    schedules: {
      incremental: `${periodMs}ms`,
      availability: 'off',
      analytics: 'off',
      reconcile: 'off',
    },
    projects: Object.fromEntries(named),
  })
}

/** For each project whose lists have all been read: the age of the oldest list, in milliseconds. */
async function listAges(warehouse: Warehouse): Promise<Map<string, number>> {
  const rows =
    await warehouse.query(`select project_id, min(synced_at) as oldest, count(*) as lists from sync_streams
    where stream in ('conversations', 'visitors', 'calls') and synced_at is not null group by project_id`)
  const complete = rows.filter((row) => Number(row.lists) === 3)
  return new Map(
    complete.map((row) => [String(row.project_id), Date.now() - Date.parse(String(row.oldest))]),
  )
}

async function measureWorstLag(warehouse: Warehouse): Promise<Map<string, number>> {
  const worst = new Map<string, number>()
  for (const until = Date.now() + measuredMs; Date.now() < until; await sleep(500))
    for (const [project, age] of await listAges(warehouse))
      worst.set(project, Math.max(age, worst.get(project) ?? 0))
  return worst
}

/** Projects with children that were never read. */
async function countBackloggedProjects(warehouse: Warehouse): Promise<number> {
  const rows = await warehouse.query(
    `select distinct project_id from sync_children where read_version = 0`,
  )
  return rows.length
}

function printLags(worst: ReadonlyMap<string, number>, backlogged: number): void {
  const lags = createDistribution()
  for (const lag of worst.values()) lags.add(lag)
  const times = `${(lags.max() / lags.quantile(0.5)).toFixed(2)} times the median`
  printFigure(
    `lag, median of ${lags.count()} projects`,
    lags.quantile(0.5) / 1000,
    's',
    `a sync every ${periodMs / 1000} s`,
  )
  printFigure('lag, 95 of 100', lags.quantile(0.95) / 1000, 's')
  printFigure('lag, the worst project', lags.max() / 1000, 's', times)
  printFigure('projects with a backlog at the end', backlogged, '')
}
