/** The worker's metrics, scraped over real HTTP and parsed as Prometheus parses them. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createMetrics, type MetricsOptions } from '../../src/http/metrics.ts'
import type { ProjectHealth } from '../../src/maintenance/sql/project-states.ts'
import { captureLog, startTestServer } from './test-server.ts'

const shop: ProjectHealth = {
  project: 'shop',
  streams: [
    {
      stream: 'conversations',
      lagMs: 90_500,
      intervalMs: 300_000,
      pendingChildren: 0,
      isFailed: false,
      isSkipped: false,
    },
    {
      stream: 'messages',
      lagMs: 12_000,
      intervalMs: 300_000,
      pendingChildren: 321,
      isFailed: true,
      isSkipped: false,
    },
    {
      stream: 'calls',
      lagMs: null,
      intervalMs: null,
      pendingChildren: 0,
      isFailed: false,
      isSkipped: true,
    },
  ],
  gaps: 3,
  writebacks: { queued: 7, uncertain: 1 },
  budget: {
    limit: 600,
    windowMs: 60_000,
    slots: 456,
    inUse: 12,
    pausedForMs: 2500,
    throttled: 1,
    closedForMs: 40_000,
  },
  isPaused: false,
  isHeld: false,
  isCircuitOpen: true,
}
const school: ProjectHealth = {
  ...shop,
  project: 'school',
  streams: [],
  gaps: 0,
  writebacks: {},
  budget: null,
  isPaused: true,
  isHeld: true,
  isCircuitOpen: false,
}

async function startMetrics(over: Partial<MetricsOptions> = {}) {
  const { log, lines } = captureLog()
  const metrics = createMetrics({ readHealth: async () => [shop, school], log, ...over })
  const { ask } = await startTestServer({ metrics })
  return { metrics, lines, scrape: async () => samples((await ask('/metrics')).text), ask }
}

/** The values by name with labels. Throws for a line that is neither a comment nor a sample. */
function samples(text: string): Readonly<Record<string, number>> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('# '))
  return Object.fromEntries(
    lines.map((line) => {
      const [, name, value] =
        /^([a-zA-Z_:][\w:]*(?:\{(?:\w+="(?:[^"\\\n]|\\.)*",?)*\})?) (\S+)$/.exec(line) ?? []
      if (name === undefined) throw new Error(`not a sample: ${line}`)
      return [name, Number(value)]
    }),
  )
}

describe('events are counted', () => {
  test('requests by priority and outcome, and each 429 separately', async () => {
    const { metrics, scrape } = await startMetrics()
    metrics.countRequest({ project: 'shop', priority: 'fresh', outcome: 'ok' })
    metrics.countRequest({ project: 'shop', priority: 'fresh', outcome: 'ok' })
    metrics.countRequest({ project: 'shop', priority: 'write', outcome: 'throttled' })
    expect(await scrape()).toMatchObject({
      'deskmirror_requests_total{project="shop",priority="fresh",outcome="ok"}': 2,
      'deskmirror_requests_total{project="shop",priority="write",outcome="throttled"}': 1,
      'deskmirror_throttled_total{project="shop"}': 1,
    })
  })

  test('429s are 0 before the first one, so that an alert notices it', async () => {
    const { scrape } = await startMetrics()
    expect(await scrape()).toMatchObject({
      'deskmirror_throttled_total{project="school"}': 0,
      'deskmirror_audit_differences_total{project="school",stream="visitors"}': 0,
    })
  })

  test('rows, sync runs and jobs', async () => {
    const { metrics, scrape } = await startMetrics()
    const report = {
      stream: 'calls',
      requests: 1,
      tookMs: 100,
      skipped: null,
      failed: null,
    } as const
    metrics.countStream('shop', { ...report, rows: 200, changed: 12 })
    metrics.countStream('shop', { ...report, rows: 20, changed: 0 })
    metrics.observeSyncRun({
      stream: 'calls',
      mode: 'incremental',
      outcome: 'complete',
      tookMs: 1500,
    })
    metrics.countJob({ queue: 'streams', result: 'done' })
    expect(await scrape()).toMatchObject({
      'deskmirror_rows_read_total{project="shop",stream="calls"}': 220,
      'deskmirror_rows_changed_total{project="shop",stream="calls"}': 12,
      'deskmirror_sync_duration_seconds_sum{stream="calls",mode="incremental",outcome="complete"}': 1.5,
      'deskmirror_sync_duration_seconds_bucket{le="0.5",stream="calls",mode="incremental",outcome="complete"}': 0,
      'deskmirror_sync_duration_seconds_bucket{le="2",stream="calls",mode="incremental",outcome="complete"}': 1,
      'deskmirror_jobs_total{queue="streams",result="done"}': 1,
    })
  })

  test('the process itself is measured', async () => {
    const { scrape, ask } = await startMetrics()
    const found = await scrape()
    expect(found.process_resident_memory_bytes).toBeGreaterThan(1e6)
    expect(found).toHaveProperty('nodejs_eventloop_lag_p99_seconds')
    expect((await ask('/metrics')).headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/)
  })
})

describe('the health of the mirror is read on each scrape', () => {
  test('by project and stream', async () => {
    const { scrape } = await startMetrics()
    const found = await scrape()
    expect(found).toMatchObject({
      deskmirror_health_up: 1,
      'deskmirror_lag_seconds{project="shop",stream="conversations"}': 90.5,
      'deskmirror_interval_seconds{project="shop",stream="conversations"}': 300,
      'deskmirror_pending_children{project="shop",stream="messages"}': 321,
      'deskmirror_stream_failed{project="shop",stream="messages"}': 1,
      'deskmirror_stream_skipped{project="shop",stream="calls"}': 1,
      'deskmirror_open_gaps{project="shop"}': 3,
      'deskmirror_writebacks{project="shop",state="uncertain"}': 1,
      'deskmirror_writebacks{project="shop",state="failed"}': 0,
      'deskmirror_sending_stopped{project="shop"}': 1,
      'deskmirror_sending_stopped{project="school"}': 0,
      'deskmirror_budget_limit{project="shop"}': 600,
      'deskmirror_budget_slots{project="shop"}': 456,
      'deskmirror_budget_slots_in_use{project="shop"}': 12,
      'deskmirror_budget_paused_seconds{project="shop"}': 2.5,
      'deskmirror_budget_closed_seconds{project="shop"}': 40,
      'deskmirror_project_paused{project="shop"}': 0,
      'deskmirror_project_paused{project="school"}': 1,
    })
  })

  test('a stream that was never read has no lag, one that no schedule reads no interval, and a project without a budget no slots', async () => {
    const { scrape } = await startMetrics()
    const found = await scrape()
    expect(found).not.toHaveProperty('deskmirror_lag_seconds{project="shop",stream="calls"}')
    expect(found).not.toHaveProperty('deskmirror_interval_seconds{project="shop",stream="calls"}')
    expect(found).not.toHaveProperty('deskmirror_budget_slots{project="school"}')
  })

  test('once for all scrapes within ten seconds', async () => {
    let [clock, read] = [0, 0]
    const readHealth = async () => {
      read += 1
      return [shop]
    }
    const { scrape } = await startMetrics({ readHealth, now: () => clock })
    await Promise.all(Array.from({ length: 8 }, scrape))
    clock = 9999
    await scrape()
    expect(read).toBe(1)
    clock = 10_000
    await scrape()
    expect(read).toBe(2)
    clock = 5000
    await scrape()
    expect(read).toBe(3)
  })

  test('the size of the warehouse, and what its disk has left where that can be known', async () => {
    const sqlite = await startMetrics({
      readStorage: async () => ({ database: 'sqlite', bytes: 5_000, freeBytes: 7_000 }),
    })
    expect(await sqlite.scrape()).toMatchObject({
      'deskmirror_warehouse_bytes{database="sqlite"}': 5000,
      'deskmirror_disk_free_bytes{database="sqlite"}': 7000,
    })
    const postgres = await (
      await startMetrics({
        readStorage: async () => ({ database: 'postgres', bytes: 5_000, freeBytes: null }),
      })
    ).scrape()
    expect(postgres).toHaveProperty('deskmirror_warehouse_bytes{database="postgres"}', 5000)
    expect(Object.keys(postgres).join()).not.toContain('deskmirror_disk_free_bytes')
    const away = await startMetrics({
      readStorage: () => Promise.reject(new Error('the disk is gone')),
    })
    expect(Object.keys(await away.scrape()).join()).not.toContain('deskmirror_warehouse_bytes')
  })

  test('what no longer exists is no longer shown', async () => {
    let [clock, all] = [0, [shop, school] as readonly ProjectHealth[]]
    const { scrape } = await startMetrics({ readHealth: async () => all, now: () => clock })
    expect(await scrape()).toHaveProperty('deskmirror_open_gaps{project="school"}')
    ;[clock, all] = [20_000, [{ ...shop, writebacks: {} }]]
    const found = await scrape()
    expect(found).not.toHaveProperty('deskmirror_open_gaps{project="school"}')
    expect(found).not.toHaveProperty('deskmirror_writebacks{project="shop",state="queued"}')
  })

  test('a warehouse that does not answer leaves the other metrics, and is reported', async () => {
    let [clock, broken] = [0, false]
    const readHealth = () =>
      broken ? Promise.reject(new Error('the warehouse is down')) : Promise.resolve([shop])
    const { scrape, metrics, lines } = await startMetrics({ readHealth, now: () => clock })
    metrics.countRequest({ project: 'shop', priority: 'fresh', outcome: 'ok' })
    await scrape()
    ;[clock, broken] = [20_000, true]
    const found = await scrape()
    expect(found).toMatchObject({
      deskmirror_health_up: 0,
      'deskmirror_requests_total{project="shop",priority="fresh",outcome="ok"}': 1,
    })
    expect(found).not.toHaveProperty(
      'deskmirror_lag_seconds{project="shop",stream="conversations"}',
    )
    expect(lines.join()).toMatch(/"event":"health\.read_failed","why":"the warehouse is down"/)
    broken = false
    expect(await scrape()).toMatchObject({
      deskmirror_health_up: 1,
      'deskmirror_open_gaps{project="shop"}': 3,
    })
  })
})

test('whatever does not answer, a scrape ends before Prometheus gives it up', async () => {
  const silent = () => new Promise<never>(() => {})
  const { log } = captureLog()
  const asked = { readHealth: silent, checkReadiness: silent, readStorage: silent }
  const metrics = createMetrics({ ...asked, log })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const text = metrics.text()
  await vi.advanceTimersByTimeAsync(8000)
  expect(samples(await text)).toMatchObject({ deskmirror_health_up: 0 })
})

test('a quote in a name is escaped', async () => {
  const { scrape } = await startMetrics({
    readHealth: async () => [{ ...shop, project: 'a "b"\\' }],
  })
  expect(await scrape()).toMatchObject({ 'deskmirror_open_gaps{project="a \\"b\\"\\\\"}': 3 })
})
