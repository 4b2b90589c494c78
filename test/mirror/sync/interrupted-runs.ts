/**
 * Syncs of one list that are ended after any answer, and what must hold afterwards. A run is a
 * function of what the warehouse holds, so what follows two equal states is checked once.
 */

import { randomUUID } from 'node:crypto'
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import type { StreamName } from '../../../schema/stream-specs.ts'
import { analyticsViews } from '../../../src/analytics/views/all-views.ts'
import { openMirror } from '../../../src/app/facts.ts'
import { createWarehouse, type Warehouse } from '../../../src/app/open.ts'
import { createLog } from '../../../src/log.ts'
import type { SyncMode } from '../../../src/mirror/core/reports.ts'
import { runSync } from '../../../src/mirror/sync/sync.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import type { Switches } from '../../../src/sandbox/switches.ts'
import { createClient } from '../../../src/service/client.ts'
import { type Connections, openConnections } from '../../../src/service/exchange.ts'
import { createMemoryStore } from '../../../src/service/rate-limit/budget-store.ts'
import { createRequestBudget } from '../../../src/service/rate-limit/request-budget.ts'
import type { EpochSeconds } from '../../../src/values/time.ts'
import { openSqlitePool } from '../../../src/warehouse/sqlite.ts'
import { quickRetries, unlimitedPolicy } from '../../service/test-service.ts'
import { makeOnce } from '../../support/make-once.ts'
import { sampled, sampledCount } from '../../support/sampled.ts'
import { sqliteTemplateForSandbox } from '../../support/sandbox-template.ts'
import { keepAll } from '../../support/stored-items.ts'
import { sourceVersion } from '../../support/warehouse-templates.ts'
import { unexplainedDifferences } from './sync-sandbox.ts'
import { findUncoveredRows, type ListName } from './uncovered-rows.ts'

const log = createLog({ level: 'silent', pretty: false, secrets: [], write: () => {} })

export type TestedService = {
  readonly what: string
  readonly list: ListName | 'messages'
  readonly switches: Partial<Switches>
  /** By default three pages of most lists, see `pageSizeOf`. Otherwise pages have 200. */
  readonly rows?: number
  /** No request with a bound shows all of its rows, so only a reconcile has to find out. */
  readonly hidesRows?: true
  /**
   * How `npm test` ends its runs: some services of each list, as `every-small-list.test.ts` tries
   * all without a database. The soak ends those of each service in both ways.
   */
  readonly sample?: 'killed' | 'killed and stopped'
}

/** `folder`: of its warehouses, removed with it. `connections`: of all its runs. */
export type Scene = {
  readonly sandbox: Sandbox
  readonly service: TestedService
  readonly folder: string
  readonly connections: Connections
}

/** One run of the mode. `onAnswer`: called after each answer, with its number. */
export async function runOnce(
  { sandbox, service, connections }: Scene,
  warehouse: Warehouse,
  mode: SyncMode,
  onAnswer: (n: number) => 'continue' | 'abort' | 'end slice' = () => 'continue',
  startDate: EpochSeconds | null = null,
) {
  const abort = new AbortController()
  const budget = createRequestBudget(createMemoryStore(unlimitedPolicy))
  const baseUrl = new URL(sandbox.baseUrl)
  const client = createClient({
    baseUrl,
    key: sandbox.key,
    budget,
    signal: abort.signal,
    connections,
    retries: quickRetries,
  })
  let [answers, isSliceOver] = [0, false]
  const result = await runSync({
    projectId: sandbox.projectId,
    mode,
    streams: new Set(streamsOf(service)),
    mirrored: new Set(streamsOf(service)),
    startDate,
    timeZone: 'UTC',
    lookBackSeconds: 600,
    get: keepAll(async (...request) => {
      const response = await client.get(...request)
      answers += 1
      const how = onAnswer(answers)
      if (how === 'abort') abort.abort()
      if (how === 'end slice') isSliceOver = true
      return response
    }),
    mirror: openMirror(warehouse, sandbox.projectId),
    requestCount: client.requestCount,
    now: Date.now,
    signal: abort.signal,
    isSliceOver: () => isSliceOver,
    onProgress: () => {},
    log,
  })
  return { ...result, answers }
}

function streamsOf({ list }: TestedService): readonly StreamName[] {
  return list === 'messages' ? ['conversations', list] : [list]
}

/**
 * Runs until nothing changes. Returns the outcome of the last run; null where `isKnown` has seen a
 * state in between.
 */
export async function runQuietly(
  scene: Scene,
  warehouse: Warehouse,
  isKnown: (state: string) => boolean = () => false,
): Promise<string | null> {
  for (let [n, before] = [0, await describeState(warehouse, scene)]; n < 8; n += 1) {
    if (isKnown(before)) return null
    const { outcome } = await runOnce(scene, warehouse, 'incremental')
    const state = await describeState(warehouse, scene)
    if (state === before) return outcome
    before = state
  }
  return 'never quiet'
}

/** What the next runs depend on. */
async function describeState(warehouse: Warehouse, { service }: Scene): Promise<string> {
  const queries = [
    `select stream, position from sync_cursors where stream not like '%:since' order by stream`,
    `select from_ts, to_ts, reason, resolved_at is null as is_open from sync_gaps order by from_ts, reason`,
    `select name, value from service_behaviours order by name`,
    `select scan, id from sync_seen_rows order by scan, id`,
    `select id from ${service.list} order by id`,
    `select id, messages_complete from conversations where not messages_complete order by id`,
    `select parent_id, requested_version, read_version from sync_children where stream = '${service.list}' order by parent_id`,
  ]
  return JSON.stringify(await Promise.all(queries.map((query) => warehouse.query(query))))
}

/** Missing rows without a gap, and an outcome that does not say whether there are gaps. */
export async function findFaults(
  { sandbox, service }: Scene,
  warehouse: Warehouse,
  outcome: string | null,
): Promise<string[]> {
  const { list } = service
  const uncovered =
    list === 'messages'
      ? await unexplainedDifferences(warehouse, sandbox, [list])
      : await findUncoveredRows(warehouse, sandbox, list)
  const gaps = await openMirror(warehouse, sandbox.projectId).listOpenGaps(list)
  return [
    ...(uncovered.length > 0
      ? [`${uncovered.length} rows are missing without a gap (${outcome})`]
      : []),
    ...(outcome === (gaps.length > 0 ? 'gaps' : 'complete')
      ? []
      : [`it is ${outcome}, with ${gaps.length} gaps`]),
  ]
}

/**
 * The faults of what follows an ended run: of quiet runs, and of a reconcile, unless `checked`
 * holds an equal state.
 */
async function checkWarehouse(
  scene: Scene,
  warehouse: Warehouse,
  checked: Set<string>,
): Promise<string[]> {
  const outcome = await runQuietly(scene, warehouse, (state) => {
    const isKnown = checked.has(state)
    checked.add(state)
    return isKnown
  })
  if (outcome === null) return []
  const quiet = scene.service.hidesRows ? [] : await findFaults(scene, warehouse, outcome)
  const reconciled = await runOnce(scene, warehouse, 'reconcile')
  const found = await findFaults(scene, warehouse, reconciled.outcome)
  return [...quiet, ...found.map((fault) => `after a reconcile, ${fault}`)]
}

type EndedRun = { readonly label: string; readonly warehouse: Warehouse }

/**
 * After each answer of a run of the mode over a copy of `start`: what kill -9 leaves, and what
 * Ctrl-C leaves, in the sample for some services only. At the end, what the whole run leaves.
 */
async function* endedRuns(scene: Scene, start: string, mode: SyncMode): AsyncGenerator<EndedRun> {
  const whole = await openCopy(scene, start)
  const killed: { readonly answer: number; readonly path: string }[] = []
  await runOnce(scene, whole.warehouse, mode, (answer) => {
    if (answer <= maxAnswers && answer % killedEach === 0)
      killed.push({ answer, path: copyDatabase(scene, whole.path) })
    return 'continue'
  })
  const stops = new Set(sampled(killed, () => scene.service.sample === 'killed and stopped'))
  for (const end of killed) {
    yield { label: `kill -9 at answer ${end.answer}`, warehouse: await open(end.path) }
    if (!stops.has(end)) continue
    const { warehouse } = await openCopy(scene, start)
    await runOnce(scene, warehouse, mode, (n) => (n === end.answer ? 'abort' : 'continue'))
    yield { label: `Ctrl-C at answer ${end.answer}`, warehouse }
  }
  yield { label: 'not ended', warehouse: whole.warehouse }
}

/**
 * What runs leave that all end with their time slice, after so many answers, until one reaches its
 * end.
 */
async function* slicedRuns(scene: Scene, start: string, mode: SyncMode): AsyncGenerator<EndedRun> {
  for (let answers = 1; answers <= sampledCount(1, 3); answers += 1) {
    const { warehouse } = await openCopy(scene, start)
    const endSlice = (answer: number) => (answer === answers ? 'end slice' : 'continue')
    for (let runs = 0; runs < 20; runs += 1) {
      const { outcome } = await runOnce(scene, warehouse, mode, endSlice)
      if (outcome !== 'interrupted') break
    }
    yield { label: `slices of ${answers}`, warehouse }
  }
}

/**
 * A warehouse without rows, and without the views for analysts: reading them takes most of the time
 * of opening it.
 */
function emptyWarehouse(): Promise<string> {
  return makeOnce(`${sourceVersion()}-without-views.db`, async (path) => {
    copyFileSync(await sqliteTemplateForSandbox(), path)
    const database = new Sqlite(path)
    for (const view of ['sync_views', ...Object.keys(analyticsViews).reverse()])
      database.exec(`drop view ${view}`)
    database.close()
  })
}

/** By default of a warehouse without rows. */
export async function openCopy(scene: Scene, of?: string) {
  const path = copyDatabase(scene, of ?? (await emptyWarehouse()))
  return { path, warehouse: await open(path) }
}

/** As a reader, which does not look for the views, but with a connection that can write. */
function open(path: string): Promise<Warehouse> {
  return createWarehouse(openSqlitePool(path, { mustExist: true, synchronous: 'normal' }), {
    access: 'read',
  })
}

/**
 * What a process leaves on the disk that dies now: between two statements, as this one waits for
 * nothing.
 */
function copyDatabase({ folder }: Scene, source: string): string {
  const target = join(folder, `${randomUUID()}.db`)
  copyFileSync(source, target)
  if (existsSync(`${source}-wal`)) copyFileSync(`${source}-wal`, `${target}-wal`)
  return target
}

/** At most so many answers into a run, and at each one or, in the sample, each second one. */
const maxAnswers = 10
const killedEach = sampledCount(2, 1)

/**
 * `mode`: of the runs that are ended. A reconcile follows quiet runs, and is continued by another.
 */
export async function findFaultsOf(
  scene: Scene,
  mode: SyncMode,
  checked: Set<string>,
): Promise<string[]> {
  const faults: string[] = []
  const continued = new Set<string>()
  const start = await openCopy(scene)
  if (mode === 'reconcile') await runQuietly(scene, start.warehouse)
  await start.warehouse.close()
  for (const runs of [endedRuns, slicedRuns]) {
    for await (const { label, warehouse } of runs(scene, start.path, mode)) {
      const state = await describeState(warehouse, scene)
      if (!continued.has(state)) {
        continued.add(state)
        const found = mode === 'reconcile' ? await checkReconcile(scene, warehouse) : []
        const followed = await checkWarehouse(scene, warehouse, checked)
        faults.push(...[...found, ...followed].map((fault) => `${mode}, ${label}: ${fault}`))
      }
      await warehouse.close()
    }
  }
  return faults
}

export async function findFaultsOfWholeRun(scene: Scene, checked: Set<string>): Promise<string[]> {
  const { warehouse } = await openCopy(scene)
  const { outcome } = await runOnce(scene, warehouse, 'incremental')
  const found = scene.service.hidesRows ? [] : await findFaults(scene, warehouse, outcome)
  const followed = await checkWarehouse(scene, warehouse, checked)
  await warehouse.close()
  return [...found, ...followed].map((fault) => `not interrupted: ${fault}`)
}

async function checkReconcile(scene: Scene, warehouse: Warehouse): Promise<string[]> {
  const { outcome } = await runOnce(scene, warehouse, 'reconcile')
  return (await findFaults(scene, warehouse, outcome)).map((fault) => `continued, ${fault}`)
}

/**
 * Where `hasMore` is not exact, whether there is more depends on a page's size: larger than the
 * usual one, as it is with `limit`.
 */
const pageSizeOf = ({ switches }: TestedService) => (switches.hasMore === undefined ? 12 : 60)

export async function withService(
  service: TestedService,
  work: (scene: Scene) => Promise<void>,
): Promise<void> {
  const size = {
    conversations: 0,
    visitors: 1,
    calls: 0,
    days: 20,
    messagesPerConversation: 1,
    activityPerVisitor: 0,
  }
  const pageSize = service.rows === undefined ? pageSizeOf(service) : 200
  const { list, rows = 2.25 * pageSize, switches } = service
  const sandbox = await startSandbox({
    seed: 5,
    speed: 0,
    size: {
      ...size,
      ...(list === 'messages'
        ? { conversations: 1, messagesPerConversation: rows }
        : { [list]: rows }),
    },
    switches: { 'rate.kind': 'off', content: 'plain', 'pages.size': pageSize, ...switches },
  })
  const folder = mkdtempSync(join(tmpdir(), 'deskmirror-runs-'))
  const connections = openConnections(10_000)
  try {
    await work({ sandbox, service, folder, connections })
  } finally {
    await connections.close()
    rmSync(folder, { recursive: true })
    await sandbox.stop()
  }
}
