/**
 * Whatever a service does and wherever a run ends, no row is missing without a gap: each service below is read by runs that
 * end after each of their requests, then by quiet runs until nothing changes, and then by a reconcile.
 */
import { copyFileSync, existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createClient } from '../../src/api/client.ts'
import { createRequestBudget } from '../../src/api/rate-limit/request-budget.ts'
import { createMemoryStore } from '../../src/api/rate-limit/state-store.ts'
import type { SyncMode } from '../../src/core/mirror.ts'
import type { StreamName } from '../../src/core/stream-specs.ts'
import { createLog } from '../../src/log.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import type { Switches } from '../../src/sandbox/switches.ts'
import { runSync } from '../../src/sync/sync.ts'
import type { Warehouse } from '../../src/warehouse/open.ts'
import { unlimitedPolicy } from '../api/test-service.ts'
import { type DatabaseInstance, databases } from '../support/databases.ts'
import { sampledCount } from '../support/sampled.ts'
import { unexplainedDifferences } from './sync-sandbox.ts'
import { findUncoveredRows, type ListName } from './uncovered-rows.ts'

const sqlite = databases[0]!
const log = createLog({ level: 'silent', pretty: false, secrets: [], write: () => {} })

type Service = {
  readonly what: string
  readonly list: ListName | 'messages'
  readonly switches: Partial<Switches>
  /** 450: the default. */
  readonly rows?: number
  /** No request with a bound shows all of its rows, so only a reconcile has to find out. */
  readonly hidesRows?: true
}

const noMore = { hasMore: 'absent' } as const
const services: readonly Service[] = [
  { what: 'calls, newest 200 shown ascending', list: 'calls', switches: { 'calls.order': 'newest-ascending' } },
  {
    what: 'calls, newest 200 shown ascending, both bounds required',
    list: 'calls',
    switches: { 'calls.order': 'newest-ascending', 'calls.range': 'required' },
  },
  {
    what: 'calls, newest first, `to` ignored',
    list: 'calls',
    switches: { 'calls.order': 'newest', 'calls.to': 'ignored' },
  },
  { what: 'visitors, newest first', list: 'visitors', switches: { 'visitors.order': 'newest' } },
  {
    what: 'visitors, newest 200 shown ascending',
    list: 'visitors',
    switches: { 'visitors.order': 'newest-ascending' },
  },
  {
    what: 'visitors, newest first, `since` ignored',
    list: 'visitors',
    switches: { 'visitors.order': 'newest', 'visitors.bound': 'ignored' },
  },
  {
    what: 'visitors, oldest first, `since` refused',
    list: 'visitors',
    switches: { 'visitors.bound': 'refused' },
  },
  {
    what: 'visitors, newest first, some without a time at the old end',
    list: 'visitors',
    switches: { 'undated.share': 0.1, 'undated.end': 'oldest', 'visitors.order': 'newest' },
    hidesRows: true,
  },
  {
    what: 'calls, newest first, some without a time at the new end',
    list: 'calls',
    switches: { 'undated.share': 0.1, 'calls.order': 'newest' },
    hidesRows: true,
  },
  {
    what: 'conversations, only open ones without `handled`',
    list: 'conversations',
    switches: { 'conversations.handled': 'open' },
    hidesRows: true,
  },
  {
    what: 'conversations, only handled ones without `handled`, newest first',
    list: 'conversations',
    switches: { 'conversations.handled': 'handled', 'conversations.order': 'newest' },
    hidesRows: true,
  },
  { what: 'visitors, oldest 200 in no order', list: 'visitors', switches: { 'visitors.order': 'oldest-shuffled' } },
  { what: 'calls, newest 200 in no order', list: 'calls', switches: { 'calls.order': 'newest-shuffled' } },
  { what: 'conversations, 200 of any time', list: 'conversations', switches: { 'conversations.order': 'any' } },
  {
    what: 'visitors, newest first, no `hasMore`, exactly 200',
    list: 'visitors',
    switches: { 'visitors.order': 'newest', ...noMore },
    rows: 200,
  },
  {
    what: 'visitors, newest first, no `hasMore`',
    list: 'visitors',
    switches: { 'visitors.order': 'newest', ...noMore },
  },
  { what: 'calls, newest first, no `hasMore`', list: 'calls', switches: { 'calls.order': 'newest', ...noMore } },
  {
    what: 'calls, newest first, no `hasMore`, pages of 100',
    list: 'calls',
    switches: { 'calls.order': 'newest', ...noMore, 'pages.size': 100 },
  },
  { what: 'conversations, oldest first, `hasMore` always', list: 'conversations', switches: { hasMore: 'always' } },
  { what: 'calls, oldest first', list: 'calls', switches: { 'calls.order': 'oldest' } },
  {
    what: 'messages, newest 200 shown ascending, with `before`',
    list: 'messages',
    switches: { 'messages.paging': 'before', 'messages.order': 'newest-ascending' },
  },
  {
    what: 'messages, newest first, with `since`',
    list: 'messages',
    switches: { 'messages.paging': 'since', 'messages.order': 'newest' },
  },
]

type Scene = { readonly sandbox: Sandbox; readonly service: Service }

/** One run of the mode. `onAnswer`: called after each answer, with its number. */
async function runOnce(
  { sandbox, service }: Scene,
  warehouse: Warehouse,
  mode: SyncMode,
  onAnswer: (n: number) => 'continue' | 'abort' | 'end slice' = () => 'continue',
) {
  const abort = new AbortController()
  const budget = createRequestBudget(createMemoryStore(unlimitedPolicy))
  const client = createClient({ baseUrl: new URL(sandbox.baseUrl), key: sandbox.key, budget, signal: abort.signal })
  let [answers, isSliceOver] = [0, false]
  try {
    const result = await runSync({
      projectId: sandbox.projectId,
      mode,
      streams: new Set(streamsOf(service)),
      mirrored: new Set(streamsOf(service)),
      startDate: null,
      timeZone: 'UTC',
      lookBackSeconds: 600,
      get: async (...request) => {
        const response = await client.get(...request)
        answers += 1
        const how = onAnswer(answers)
        if (how === 'abort') abort.abort()
        if (how === 'end slice') isSliceOver = true
        return response
      },
      mirror: warehouse.mirror(sandbox.projectId),
      requestCount: client.requestCount,
      now: Date.now,
      signal: abort.signal,
      isSliceOver: () => isSliceOver,
      onProgress: () => {},
      log,
    })
    return { ...result, answers }
  } finally {
    await client.close()
  }
}

function streamsOf({ list }: Service): readonly StreamName[] {
  return list === 'messages' ? ['conversations', list] : [list]
}

/** Runs until nothing changes. Returns the outcome of the last run. */
async function runQuietly(scene: Scene, warehouse: Warehouse): Promise<string> {
  let before = ''
  for (let n = 0; n < 8; n += 1) {
    const { outcome, reports } = await runOnce(scene, warehouse, 'incremental')
    const cursors = await warehouse.query('select stream, position from sync_cursors order by stream')
    const now = JSON.stringify([outcome, reports.map(({ changed }) => changed), cursors])
    if (now === before) return outcome
    before = now
  }
  return 'never quiet'
}

/** Missing rows without a gap, and an outcome that does not say whether there are gaps. */
async function findFaults({ sandbox, service }: Scene, warehouse: Warehouse, outcome: string): Promise<string[]> {
  const { list } = service
  const uncovered =
    list === 'messages'
      ? await unexplainedDifferences(warehouse, sandbox, [list])
      : await findUncoveredRows(warehouse, sandbox, list)
  const gaps = await warehouse.mirror(sandbox.projectId).listOpenGaps(list)
  return [
    ...(uncovered.length > 0 ? [`${uncovered.length} rows are missing without a gap (${outcome})`] : []),
    ...(outcome === (gaps.length > 0 ? 'gaps' : 'complete') ? [] : [`it is ${outcome}, with ${gaps.length} gaps`]),
  ]
}

/** The faults after quiet runs, and after a reconcile. */
async function checkWarehouse(scene: Scene, warehouse: Warehouse): Promise<string[]> {
  const outcome = await runQuietly(scene, warehouse)
  const quiet = scene.service.hidesRows ? [] : await findFaults(scene, warehouse, outcome)
  const reconciled = await runOnce(scene, warehouse, 'reconcile')
  const found = await findFaults(scene, warehouse, reconciled.outcome)
  return [...quiet, ...found.map((fault) => `after a reconcile, ${fault}`)]
}

type EndedRun = { readonly label: string; readonly database: DatabaseInstance }

/** After each answer of a run of the mode over a copy of `start`: what Ctrl-C leaves, and what kill -9 leaves. */
async function* endedRuns(scene: Scene, start: DatabaseInstance, mode: SyncMode): AsyncGenerator<EndedRun> {
  for (let n = 1; n <= maxAnswers; n += 1) {
    const [stopped, killed] = [await copyOf(start), await sqlite.make()]
    const { outcome } = await runOnce(scene, await stopped.open(), mode, (answer) => {
      if (answer !== n) return 'continue'
      copyDatabase(stopped, killed)
      return 'abort'
    })
    yield { label: `kill -9 at answer ${n}`, database: killed }
    yield { label: `Ctrl-C at answer ${n}`, database: stopped }
    if (outcome !== 'interrupted') return
  }
}

/** What runs leave that all end with their time slice, after so many answers, until one reaches its end. */
async function* slicedRuns(scene: Scene, start: DatabaseInstance, mode: SyncMode): AsyncGenerator<EndedRun> {
  for (let answers = 1; answers <= sampledCount(1, 3); answers += 1) {
    const database = await copyOf(start)
    const warehouse = await database.open()
    const endSlice = (answer: number) => (answer === answers ? 'end slice' : 'continue')
    for (let runs = 0; runs < 20; runs += 1) {
      const { outcome } = await runOnce(scene, warehouse, mode, endSlice)
      if (outcome !== 'interrupted') break
    }
    yield { label: `slices of ${answers}`, database }
  }
}

async function copyOf(from: DatabaseInstance): Promise<DatabaseInstance> {
  const copy = await sqlite.make()
  copyDatabase(from, copy)
  return copy
}

/** What a process leaves on the disk that dies now: between two statements, as this one waits for nothing. */
function copyDatabase(from: DatabaseInstance, to: DatabaseInstance): void {
  const [source, target] = [from, to].map(({ url }) => url!.slice('sqlite:'.length))
  copyFileSync(source!, target!)
  if (existsSync(`${source}-wal`)) copyFileSync(`${source}-wal`, `${target}-wal`)
}

/** At most so many answers into a run. */
const maxAnswers = 10

/** What the next runs depend on; two states that have it in common are checked once. */
async function describeState(warehouse: Warehouse, { service }: Scene): Promise<string> {
  const queries = [
    `select stream, position from sync_cursors where stream not like '%:since' order by stream`,
    `select from_ts, to_ts, reason, resolved_at is null as is_open from sync_gaps order by from_ts, reason`,
    `select name, value from service_behaviours order by name`,
    `select census, id from sync_census order by census, id`,
    `select id from ${service.list} order by id`,
  ]
  return JSON.stringify(await Promise.all(queries.map((query) => warehouse.query(query))))
}

/** `mode`: of the runs that are ended. A reconcile follows quiet runs, and is continued by another. */
async function findFaultsOf(scene: Scene, mode: SyncMode): Promise<string[]> {
  const faults: string[] = []
  const checked = new Set<string>()
  const start = await sqlite.make()
  if (mode === 'reconcile') await runQuietly(scene, await start.open())
  for (const runs of [endedRuns, slicedRuns]) {
    for await (const { label, database } of runs(scene, start, mode)) {
      const warehouse = await database.open()
      const state = await describeState(warehouse, scene)
      if (!checked.has(state)) {
        checked.add(state)
        const found = mode === 'reconcile' ? await checkReconcile(scene, warehouse) : []
        faults.push(...[...found, ...(await checkWarehouse(scene, warehouse))].map((fault) => `${label}: ${fault}`))
      }
      await database.drop()
    }
  }
  await start.drop()
  return faults
}

async function checkReconcile(scene: Scene, warehouse: Warehouse): Promise<string[]> {
  const { outcome } = await runOnce(scene, warehouse, 'reconcile')
  return (await findFaults(scene, warehouse, outcome)).map((fault) => `continued, ${fault}`)
}

async function withService(service: Service, work: (scene: Scene) => Promise<void>): Promise<void> {
  const size = { conversations: 0, visitors: 1, calls: 0, days: 20, messagesPerConversation: 1, activityPerVisitor: 0 }
  const { list, rows = 450, switches } = service
  const sandbox = await startSandbox({
    seed: 5,
    speed: 0,
    size: {
      ...size,
      ...(list === 'messages' ? { conversations: 1, messagesPerConversation: rows } : { [list]: rows }),
    },
    switches: { 'rate.kind': 'off', content: 'plain', ...switches },
  })
  try {
    await work({ sandbox, service })
  } finally {
    await sandbox.stop()
  }
}

/** The message has all of them. */
function expectNone(faults: readonly string[]): void {
  expect(faults, faults.join('\n')).toEqual([])
}

for (const service of services) {
  test(`${service.what}: not interrupted`, () =>
    withService(service, async (scene) => {
      const database = await sqlite.make()
      try {
        expectNone(await checkWarehouse(scene, await database.open()))
      } finally {
        await database.drop()
      }
    }))

  for (const mode of ['incremental', 'reconcile'] as const) {
    test(`${service.what}: ${mode} runs that end early`, { timeout: 120_000 }, () =>
      withService(service, async (scene) => {
        expectNone(await findFaultsOf(scene, mode))
      }),
    )
  }
}
