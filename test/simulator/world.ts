/**
 * Runs one schedule: a world of processes over one database and one service, made and driven by a
 * seed.
 */

import { listStreamNames } from '../../schema/stream-specs.ts'
import { openMirror } from '../../src/app/facts.ts'
import type { Warehouse } from '../../src/app/open.ts'
import { defaultProject } from '../../src/config/config.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { createMemorySandbox, type MemorySandbox } from '../../src/sandbox/memory-sandbox.ts'
import { secret } from '../../src/values/secret.ts'
import type { Ms } from '../../src/values/time.ts'
import { scheduleChanges } from './changes.ts'
import {
  checkBudget,
  checkIncremental,
  checkLists,
  checkMessages,
  checkMirror,
  checkWritebacks,
} from './checks.ts'
import { createListsPlan } from './lists-plan.ts'
import { createObserver } from './observer.ts'
import {
  chooseDelivery,
  createPlan,
  lookBackMs,
  type Plan,
  verifyAfterMs,
  windowMs,
} from './plan.ts'
import { createProcess, createProcesses, type Processes } from './processes.ts'
import { type Program, pushProgram, readProgram, syncProgram } from './program.ts'
import {
  createScheduler,
  currentProcess,
  type RunRecords,
  ScheduleError,
  type Scheduler,
  type SimulatedProcess,
  type WorldKind,
} from './scheduler.ts'
import type { SimulatedDatabase } from './simulated-database.ts'
import { createSimulatedNetwork } from './simulated-network.ts'
import { installPlatform } from './virtual-platform.ts'

export type ScheduleResult = {
  readonly seed: number
  readonly failures: readonly string[]
  readonly items: number
  readonly digest: number
  readonly virtualMs: Ms
  readonly plan: Plan
}

/** `database`: as the template has it; it is reset afterwards. */
export async function runSchedule(
  seed: number,
  database: SimulatedDatabase,
  records: RunRecords = {},
  kind: WorldKind = 'any',
): Promise<ScheduleResult> {
  const scheduler = createScheduler(seed, records)
  const plan = kind === 'any' ? createPlan(scheduler) : createListsPlan(scheduler, kind === 'lists')
  const clock = { wallOffset: 0 }
  const failures = await inWorld({ seed, plan, scheduler, database, clock }, async (world) => {
    scheduler.log('world', `has the plan ${JSON.stringify(plan)}`)
    await runPhases(world, clock)
  })
  scheduler.record(...failures)
  // What no statement has read may still be from the machine. Only where runs are compared, to save
  // time elsewhere.
  if (records.recording !== undefined)
    for (const table of database.contents()) scheduler.record(...table)
  await database.reset()
  const items = scheduler.itemCount()
  return { seed, failures, items, digest: scheduler.digest(), virtualMs: scheduler.now(), plan }
}

/** Reads a service that has all fields, without any fault. */
export async function runQuietSync(database: SimulatedDatabase): Promise<void> {
  const scheduler = createScheduler(1, {})
  const size = { ...createPlan(scheduler).size, conversations: 40, visitors: 40, calls: 40 }
  const plan = { ...createPlan(scheduler), size }
  const failures = await inWorld(
    { seed: 1, plan, scheduler, database, clock: { wallOffset: 0 } },
    (world) => {
      world.state.isCalm = true
      world.spawn('sync', syncProgram('incremental'))
      return scheduler.run(() => world.state.running === 0)
    },
  )
  if (failures.length > 0) throw new Error(failures.join())
}

type WorldOptions = {
  readonly seed: number
  readonly plan: Plan
  readonly scheduler: Scheduler
  readonly database: SimulatedDatabase
  readonly clock: { readonly wallOffset: Ms }
}

/** Returns the promises that were broken. */
async function inWorld(
  options: WorldOptions,
  work: (world: World) => Promise<void>,
): Promise<readonly string[]> {
  const { scheduler, clock } = options
  const processes: SimulatedProcess[] = []
  const restore = installPlatform({
    scheduler,
    processes: () => processes,
    wallOffset: () => clock.wallOffset,
  })
  try {
    return await currentProcess.run(null, async () => {
      const world = createWorld(options, processes)
      await work(world).catch(world.onError)
      return world.failures
    })
  } finally {
    restore()
  }
}

export type World = ReturnType<typeof createWorld>

function createWorld({ seed, plan, scheduler, database }: WorldOptions, all: SimulatedProcess[]) {
  const sandbox = createMemorySandbox({
    id: projectId,
    seed,
    size: plan.size,
    switches: plan.switches,
  })
  const failures: string[] = []
  const state = { isCalm: false, running: 0 }
  const report = (failure: string) => {
    scheduler.log('world', `BROKEN: ${failure}`)
    failures.push(failure)
  }
  const onError = (error: unknown) => {
    if (error instanceof ScheduleError) report(error.message)
    else report(`a bug: ${error instanceof Error ? error.stack : String(error)}`)
  }
  const observer = createObserver(database.observing(), scheduler, report)
  const processes = (): Processes => createdProcesses
  const network = createSimulatedNetwork({
    scheduler,
    sandbox,
    chooseDelivery: ({ method }) =>
      chooseDelivery(scheduler, plan, { isCalm: state.isCalm, isWrite: method !== 'GET' }),
    onLeave: (process, request) => {
      observer.onWrite(process, request)
      processes().onRequest(process)
    },
    onAnswer: (process) => processes().onRequest(process),
  })
  const deps = { scheduler, database, network, project: projectOf(sandbox, plan) }
  const createdProcesses = createProcesses({ deps, plan, all, state, onError })
  return {
    plan,
    scheduler,
    sandbox,
    database,
    failures,
    state,
    onError,
    spawn: createdProcesses.spawn,
    /** Write-backs whose cancellation was confirmed. */
    cancelled: new Set<string>(),
    checkReplacedRows: observer.checkReplacedRows,
    spectator: createProcess('world', 1, 'machine'),
  }
}

/** Always the same, as the template knows the columns of this project. */
const projectId = '11111111-2222-4333-8444-555555555555'

function projectOf(sandbox: MemorySandbox, { limits }: Plan) {
  const address = new URL('https://service.example')
  return defaultProject({
    name: 'shop',
    projectId: sandbox.projectId,
    baseUrl: address,
    widgetUrl: address,
    apiKey: secret(sandbox.key),
    rate: { requests: limits.requests, windowMs },
    writeRate: { requests: limits.writes, windowMs },
    lookBackMs,
    verifyAfterMs,
  })
}

/** Faults first; then everything ends by itself; then quiet runs, and the checks. */
async function runPhases(world: World, clock: { wallOffset: Ms }): Promise<void> {
  const { scheduler, plan, state, spawn, database, sandbox, failures } = world
  const untilQuiet = () => scheduler.run(() => state.running === 0 && state.isCalm)
  const runQuietly = async (name: string, program: Program) => {
    spawn(name, program)
    await untilQuiet()
  }
  scheduleChanges(world, clock)
  keepRunning(world, 'sync', plan.syncers, () =>
    syncProgram(scheduler.chance(plan.reconcileShare) ? 'reconcile' : 'incremental'),
  )
  keepRunning(world, 'push', plan.pushers, () => pushProgram(scheduler.chance(0.5)))
  keepRunning(world, 'read', plan.readers, () => readProgram)
  scheduler.schedule(null, plan.activeMs, 'is calm from now on', () => {
    state.isCalm = true
  })
  await untilQuiet()
  const warehouse = await database.openUnscheduled(world.spectator)
  if (plan.pushers > 0) {
    await runQuietly('push', pushProgram(true))
    const entries = await createOutbox(warehouse.projectDb(sandbox.projectId)).list({}, 1000)
    failures.push(...checkWritebacks(sandbox, entries, world.cancelled))
  }
  if (plan.syncers > 0) {
    await waitUntilNothingIsRecent(world)
    await runQuietly('sync', syncProgram('incremental'))
    if (plan.focus !== 'lists') failures.push(...(await checkIncremental(warehouse, sandbox)))
    else for (let n = 0; n < 3; n += 1) await runQuietly('sync', syncProgram('incremental'))
    if (plan.focus === 'lists' && !plan.hidesRows)
      failures.push(...(await checkLists(warehouse, sandbox, `quiet runs (${plan.unusual})`)))
  }
  if (plan.syncers > 0 && plan.endsWithReconcile) {
    // It would continue, and not read again what a killed one had read before the last changes.
    if (await isReconcileUnfinished(warehouse, sandbox))
      await runQuietly('sync', syncProgram('reconcile'))
    await runQuietly('sync', syncProgram('reconcile'))
    if (plan.focus === 'lists')
      for (const check of [checkLists, checkMessages])
        failures.push(...(await check(warehouse, sandbox, `a reconciliation (${plan.unusual})`)))
    else failures.push(...(await checkMirror(warehouse, sandbox)))
  }
  world.checkReplacedRows()
  failures.push(...checkBudget(sandbox, windowMs))
}

async function isReconcileUnfinished(
  warehouse: Warehouse,
  { projectId }: MemorySandbox,
): Promise<boolean> {
  const mirror = openMirror(warehouse, projectId)
  const positions = await Promise.all(
    listStreamNames.map((name) => mirror.readCursor(`${name}:whole`)),
  )
  return positions.some((position) => position !== null)
}

/** Then an incremental run depends on what earlier ones have stored, and not on its look-back. */
async function waitUntilNothingIsRecent({ scheduler }: World): Promise<void> {
  const until = scheduler.now() + lookBackMs + 60_000
  scheduler.schedule(null, until - scheduler.now(), 'waits until nothing is recent', () => {})
  await scheduler.run(() => scheduler.now() >= until)
}

/** Starts a command again and again until the world is calm, as a schedule or a person does. */
function keepRunning(
  { scheduler, plan, state, spawn }: World,
  name: string,
  count: number,
  program: () => Program,
): void {
  const start = () => {
    if (!state.isCalm)
      spawn(name, program(), () =>
        scheduler.schedule(null, scheduler.int(10, plan.pauseMs), '', start),
      )
  }
  for (let n = 0; n < count; n += 1) scheduler.schedule(null, scheduler.int(0, 2000), '', start)
}
