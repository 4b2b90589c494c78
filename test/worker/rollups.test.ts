/** The rollups in a worker, where they and each list are read by separate jobs. */
import { expect, onTestFinished, test } from 'vitest'
import type { Warehouse } from '../../src/app/open.ts'
import { defaultSchedules } from '../../src/config/schedules.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { secret } from '../../src/values/secret.ts'
import { projectConfigOf, type SyncOverrides, syncOnce } from '../mirror/sync/sync-sandbox.ts'
import { workerStores } from './fixtures.ts'
import { startWorkerInProcess, workerConfig } from './in-process-worker.ts'
import type { LogReader } from './log-reader.ts'

const day = 86_400_000
const listSize = {
  conversations: 30,
  visitors: 10,
  calls: 2,
  messagesPerConversation: [1, 2],
  days: 5,
} as const
const size = { ...listSize, activityPerVisitor: [0, 0] } as const
const frequent = { ...defaultSchedules, incremental: { kind: 'every', ms: 1000 } } as const

/** Resolves when there is a rollup of this time zone for each day since `first`. */
async function waitForRollups(
  worker: LogReader,
  warehouse: Warehouse,
  sandbox: Sandbox,
  first: number,
  zone = 'UTC',
) {
  const date = (at: number) => new Date(at).toLocaleDateString('sv-SE', { timeZone: zone })
  const expected = () => {
    const days = new Set<string>()
    for (let at = first; at < sandbox.now(); at += day / 4) days.add(date(at))
    return [...days.add(date(sandbox.now()))]
  }
  const stored = async () =>
    (
      await warehouse.query(
        `select day from analytics_rollups where time_zone = '${zone}' order by day`,
      )
    ).map((row) => String(row.day))
  while ((await stored()).join() !== expected().join()) await worker.waitForNext()
}

const earliestCall = (sandbox: Sandbox) =>
  Math.min(
    ...[...sandbox.truth('calls')].map(({ row }) =>
      Date.parse((row as { startedAt: string }).startedAt),
    ),
  )

const earliest = (sandbox: Sandbox) =>
  Math.min(
    ...[...sandbox.truth('conversations')].map(({ row }) =>
      Date.parse((row as { createdAt: string }).createdAt),
    ),
    earliestCall(sandbox),
  )

const redis = workerStores.find(({ kind }) => kind === 'redis')!

test('rollups begin when the lists have been read, and adapt to a granted scope, an earlier start and another time zone', async () => {
  const stores = await redis.make()
  const sandbox = await startSandbox({
    seed: 5,
    size,
    now: new Date().toISOString(),
    switches: { 'rate.kind': 'off', 'latency.after': 2 },
  })
  onTestFinished(async () => {
    await sandbox.stop()
    await stores.drop()
  })
  const warehouse = await stores.open()
  const key = 'svc_live_granted'
  sandbox.addKey({
    key,
    scopes: ['calls:read', 'visitors:read', 'analytics:read', 'availability:read'],
  })
  const project = projectConfigOf(sandbox, { schedules: frequent, apiKey: secret(key) })
  const worker = await startWorkerInProcess(workerConfig(stores, [project]), { sliceMs: 400 })
  await waitForRollups(worker, warehouse, sandbox, earliestCall(sandbox))
  expect(earliest(sandbox)).toBeLessThan(earliestCall(sandbox) - day)

  // The list that the key could not read before contains older rows.
  sandbox.addKey({ key })
  await waitForRollups(worker, warehouse, sandbox, earliest(sandbox))
  const asked = sandbox.log().filter(({ path }) => path.endsWith('/analytics')).length
  expect(asked).toBeLessThan(4 * size.days)

  // Midnight, so that it is the same day in both time zones.
  const startDate = (Math.floor(earliest(sandbox) / day) - 2) * 86_400
  worker.reload(workerConfig(stores, [{ ...project, startDate }]))
  await waitForRollups(worker, warehouse, sandbox, startDate * 1000)

  worker.reload(workerConfig(stores, [{ ...project, startDate, timeZone: 'Asia/Kolkata' }]))
  // A worker replaces no rollups by itself; once a person has confirmed the zone, it reads what is
  // left.
  await worker.waitFor(
    ({ event, why }) => event === 'sync.failed' && String(why).includes('--change-time-zone'),
  )
  expect(await warehouse.query(`select 1 from analytics_rollups where time_zone <> 'UTC'`)).toEqual(
    [],
  )
  const stop = new AbortController()
  const zone = { ...project, startDate, timeZone: 'Asia/Kolkata' }
  const confirmed = {
    streams: ['analytics'] as const,
    wait: true,
    changeTimeZone: true,
    signal: stop.signal,
  }
  const onProgress: SyncOverrides['onProgress'] = ({ rows }) => rows >= 2 && stop.abort()
  await syncOnce(stores.databaseUrl, sandbox, {
    ...confirmed,
    project: zone,
    queueUrl: stores.queueUrl,
    onProgress,
  })
  await waitForRollups(worker, warehouse, sandbox, startDate * 1000, 'Asia/Kolkata')
  expect(
    await warehouse.query(`select 1 from analytics_metrics where time_zone <> 'Asia/Kolkata'`),
  ).toEqual([])
  const gaps = () => warehouse.query('select 1 from sync_gaps where resolved_at is null')
  while ((await gaps()).length > 0) await worker.waitForNext()
})
