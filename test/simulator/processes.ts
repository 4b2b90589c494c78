/**
 * Starts simulated processes, and ends them: by themselves, by a crash, by SIGTERM, or suspended
 * for a while.
 */
import { UserError } from '../../src/values/user-error.ts'
import type { Plan } from './plan.ts'
import type { Program, ProgramDeps } from './program.ts'
import { currentProcess, type Item, type SimulatedProcess } from './scheduler.ts'

type SpawnDeps = {
  readonly deps: ProgramDeps
  readonly plan: Plan
  /** Every process that was ever started. */
  readonly all: SimulatedProcess[]
  /** Calm: no more faults. */
  readonly state: { readonly isCalm: boolean; running: number }
  readonly onError: (error: unknown) => void
}

/** Runs a program as a process of its own; `onEnd` is called when it has ended or died. */
export type Spawn = (name: string, program: Program, onEnd?: () => void) => void

export type Processes = {
  readonly spawn: Spawn
  /**
   * Called when a request leaves or its answer has come: ends the run there, or soon after, if the
   * plan says so.
   */
  readonly onRequest: (process: SimulatedProcess) => void
}

/** After an answer, so many items of the process are enough to store it and to ask for more. */
const maxItemsUntilEnd = 20

export function createProcess(name: string, pid: number, container: string): SimulatedProcess {
  return {
    name,
    pid,
    container,
    isDead: false,
    isSliceOver: false,
    isInTransaction: false,
    suspendedUntil: 0,
  }
}

export function createProcesses({ deps, plan, all, state, onError }: SpawnDeps): Processes {
  const { scheduler, database } = deps
  const kills = new Map<SimulatedProcess, () => void>()
  const terminations = new Map<SimulatedProcess, AbortController>()
  /** What ends a process after so many more of its items. */
  const endings = new Map<SimulatedProcess, { items: number; readonly end: () => void }>()
  scheduler.onItem((item) => {
    if (item.owner !== null && !state.isCalm && isDisturbed(item.owner)) disturb(item, item.owner)
  })

  function onRequest(process: SimulatedProcess): void {
    if (
      state.isCalm ||
      !process.name.startsWith('sync') ||
      !scheduler.chance(plan.interruptionRate)
    )
      return
    const how = scheduler.pick(['is killed', 'gets SIGTERM', 'ends its time slice'])
    const end = () => {
      scheduler.log(process.name, `${how}, at a request`)
      if (how === 'is killed') kills.get(process)?.()
      else if (how === 'gets SIGTERM') terminations.get(process)?.abort()
      else process.isSliceOver = true
    }
    endings.set(process, { items: scheduler.int(0, maxItemsUntilEnd), end })
  }

  function disturb({ what }: Item, process: SimulatedProcess): void {
    const ending = endings.get(process)
    if (ending !== undefined && ending.items-- === 0) ending.end()
    const isCrash =
      scheduler.chance(plan.crashRate) ||
      (process.isInTransaction && scheduler.chance(plan.transactionCrashRate))
    if (isCrash) kills.get(process)?.()
    if (isCrash || !scheduler.chance(plan.suspendRate)) return
    // Others ask for the lock every few milliseconds, which costs more than it shows.
    const ms = process.isInTransaction ? 200 : scheduler.pick([2000, 15_000, 70_000, 130_000])
    process.suspendedUntil = scheduler.now() + ms
    scheduler.addToTrace(
      process.name,
      `is suspended for ${ms / 1000} s${what === '' ? '' : ` before: ${what}`}`,
    )
  }

  const spawn: Spawn = (name, program, onEnd = () => {}) => {
    const pid = 100 + all.length
    const process = createProcess(
      `${name}#${pid}`,
      pid,
      plan.hasContainers ? `container-${pid}` : 'machine',
    )
    all.push(process)
    state.running += 1
    const end = (how: string) => {
      if (process.isDead) return
      process.isDead = true
      state.running -= 1
      scheduler.log(process.name, how)
      void database.release(process).then(onEnd)
    }
    kills.set(process, () => end('IS KILLED'))
    const termination = new AbortController()
    terminations.set(process, termination)
    if (!state.isCalm && scheduler.chance(plan.terminationRate))
      scheduler.schedule(process, scheduler.int(50, 8000), 'gets SIGTERM', () =>
        termination.abort(),
      )
    const onThrown = (error: unknown) => {
      if (!(error instanceof UserError)) onError(error)
      end(error instanceof UserError ? `ends: ${error.what}: ${error.why}` : 'crashes')
    }
    currentProcess
      .run(process, () => program(deps, process, termination.signal))
      .then(() => end('ends'), onThrown)
  }
  return { spawn, onRequest }
}

/** People do their work undisturbed. */
function isDisturbed({ name }: SimulatedProcess): boolean {
  return /^(sync|push|read)/.test(name)
}
