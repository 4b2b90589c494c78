/**
 * The sandbox without its network: projects, keys, clock, request log, and what tests do to them.
 */
import { performance } from 'node:perf_hooks'
import { type EpochMs, type Ms, parseTime } from '../values/time.ts'
import { type Scope, scopes } from './endpoints.ts'
import { parseFaultKinds } from './faults.ts'
import { applyRandomMutations, type MutationKind, parseMutationKinds } from './mutations.ts'
import {
  createProject,
  type Project,
  projectIdFromSeed,
  type TruthStream,
  truthOf,
} from './project.ts'
import { defaultSize, type Size } from './seed-context.ts'
import { countRequests, createService } from './service.ts'
import { parseSwitches, type Switches } from './switches.ts'
import { parseRowKinds } from './view.ts'

export type KeyOptions = {
  readonly key: string
  /** All scopes by default. */
  readonly scopes?: readonly Scope[]
  /** The name of the key in logs; by default `key_` and a number. */
  readonly id?: string
}

type ProjectOptions = {
  /** A UUID; by default one made from the seed. */
  readonly id?: string
  readonly seed?: number
  readonly size?: Partial<Size>
  readonly keys?: readonly KeyOptions[]
}

export type SandboxOptions = ProjectOptions & {
  /** 0 = any free port, the default. */
  readonly port?: number
  /** The prefix of every path of the API, for example `/v1`; none by default. */
  readonly prefix?: string
  /** Where the service's clock starts, RFC 3339. The seed data ends a few seconds earlier. */
  readonly now?: string
  /** Of the service's clock per real second: 1 by default; 0 = it moves only by `advance`. */
  readonly speed?: number
  readonly switches?: Partial<Switches>
  /** Further projects beside the first, which the other options describe. */
  readonly projects?: readonly ProjectOptions[]
}

export type MemorySandbox = ReturnType<typeof createMemorySandbox>

const defaultNow = '2026-06-01T12:00:00Z'
const defaultKey = 'svc_live_sandbox'

/** Throws RangeError for invalid options. */
export function createMemorySandbox(options: SandboxOptions = {}) {
  const firstSeed = options.seed ?? 1
  let switches = validateSwitches(parseSwitches(options.switches ?? {}))
  const currentSwitches = () => switches
  const clock = createClock(options.now ?? defaultNow, options.speed ?? 1)
  const projects = new Map<string, Project>()
  const service = createService(clock.now, currentSwitches, firstSeed)
  /** Without an id it finds the first project. */
  const findProject = (id = [...projects.keys()][0] ?? ''): Project => {
    const found = projects.get(id.toLowerCase())
    if (found === undefined) throw new RangeError(`there is no project ${id}`)
    return found
  }
  let keyCount = 0
  const addKey = (
    { key, id = `key_${keyCount + 1}`, scopes: given = scopes }: KeyOptions,
    projectId?: string,
  ) => {
    keyCount += 1
    service.keys.set(key, { id, project: findProject(projectId), scopes: given })
  }
  for (const [n, { seed = firstSeed + n, size, keys, ...given }] of [
    options,
    ...(options.projects ?? []),
  ].entries()) {
    const id = (given.id ?? projectIdFromSeed(seed)).toLowerCase()
    if (projects.has(id)) throw new RangeError(`two projects have the id ${id}`)
    const seedOptions = { seed, size: { ...defaultSize, ...size }, end: clock.start }
    projects.set(id, createProject(id, seedOptions, clock.now, currentSwitches))
    for (const key of keys ?? [{ key: n === 0 ? defaultKey : `${defaultKey}_${n + 1}` }])
      addKey(key, id)
  }
  return {
    /** What answers requests; see `receiveRequest`. */
    service,
    projectId: findProject().id,
    projectIds: [...projects.keys()] as readonly string[],
    key: options.keys?.[0]?.key ?? defaultKey,
    log: () => [...service.requestLog],
    counts: () => countRequests(service.requestLog),
    resetLog: () => void service.requestLog.splice(0),
    // Without a project id, these use the first project.
    /** Every write that was performed, in order. */
    ledger: (id?: string) => findProject(id).ledger,
    truth: (stream: TruthStream, id?: string) => truthOf(findProject(id), stream),
    // Read on each access, because some switches recreate the project's data.
    get mutate() {
      return findProject().mutate
    },
    mutateIn: (id?: string) => findProject(id).mutate,
    /** Applies `n` seeded changes; returns their kinds. */
    applyRandomMutations: (n: number, seed: number, kinds?: readonly MutationKind[], id?: string) =>
      applyRandomMutations(findProject(id), n, seed, kinds),
    switches: currentSwitches,
    /**
     * All of these, or throws RangeError. `rate.*` resets the limits. `storm.*`, `rows.rhythm`,
     * `calls.seconds`, `ids.letters` and `content` recreate the seed data and discard later
     * changes.
     */
    setSwitches(changes: Partial<Switches>) {
      switches = validateSwitches(parseSwitches(changes, switches))
      const changesAny = (names: RegExp) => Object.keys(changes).some((name) => names.test(name))
      if (changesAny(/^rate\./)) service.keyLimits.reset()
      if (changesAny(/^(storm\..*|content|calls\.seconds|rows\.rhythm|ids\.letters)$/))
        for (const project of projects.values()) project.reset()
    },
    scriptFault: service.faults.script,
    clearFaults: service.faults.clear,
    addKey,
    /** Takes effect at once, as in the service. */
    revokeKey: (key: string) => void service.keys.delete(key),
    now: clock.now,
    advance: clock.advance,
  }
}

/** Throws RangeError if a switch names an unknown fault, change or kind of row. */
function validateSwitches(switches: Switches): Switches {
  parseFaultKinds(switches['fault.kinds'])
  parseMutationKinds(switches['move.kinds'])
  for (const name of ['misdated.of', 'late.of', 'undated.of'] as const)
    parseRowKinds(switches[name])
  return switches
}

/** 0 = it moves only by `advance`. Throws RangeError for an invalid start. */
function createClock(start: string, speed: number) {
  const seconds = parseTime(start)
  if (seconds === undefined) throw new RangeError(`${start} is not an RFC 3339 time`)
  const began = performance.now()
  let ahead: Ms = 0
  return {
    start: seconds * 1000,
    now: (): EpochMs => Math.floor(seconds * 1000 + (performance.now() - began) * speed + ahead),
    advance(ms: Ms) {
      if (!(ms >= 0)) throw new RangeError('the clock moves forwards only')
      ahead += ms
    },
  }
}
