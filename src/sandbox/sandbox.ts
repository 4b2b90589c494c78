/** Starts the service double: a full, stateful server of the API on loopback, and the strings that a test pulls. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { performance } from 'node:perf_hooks'
import { type EpochMs, type Ms, moment } from '../core/time.ts'
import { controlOf } from './control.ts'
import { diceFor } from './dice.ts'
import { chosenKinds, type Faults, faultsOf } from './faults.ts'
import type { Gateway } from './gateway.ts'
import type { Sandbox } from './handle.ts'
import { countsOf, type JournalEntry } from './journal.ts'
import { type KeyRing, scopes } from './keys.ts'
import { listenerOf } from './listener.ts'
import { churn } from './mutations.ts'
import { routerOf } from './operation.ts'
import { operations } from './operations.ts'
import type { KeyOptions, SandboxOptions } from './options.ts'
import { rollupOf } from './overview-operations.ts'
import { type Project, projectIdOf, projectOf } from './project.ts'
import { serviceOf } from './service.ts'
import { type Switches, type SwitchName, switchesWith } from './switches.ts'
import { truthOf } from './truth.ts'
import { usualSize } from './world.ts'

export type { Sandbox } from './handle.ts'
export type { KeyOptions, ProjectOptions, SandboxOptions } from './options.ts'

export const usualKey = 'svc_live_sandbox'
export const usualNow = '2026-06-01T12:00:00Z'

export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const parts = assembled(options)
  const server = createServer({ keepAliveTimeout: 65_000, requestTimeout: 0 })
  const port = await listening(server, options.port ?? 0)
  const sandbox = handle(parts, server, port, options.prefix ?? '')
  server.on('request', listenerOf(parts.gateway, options.prefix ?? '', controlOf(sandbox)))
  return sandbox
}

type Parts = {
  readonly gateway: Gateway
  readonly faults: Faults
  readonly projects: ReadonlyMap<string, Project>
  readonly addKey: (key: KeyOptions, projectId: string) => void
  readonly keys: KeyRing
  readonly first: Project
  readonly firstKey: string
  readonly clock: () => EpochMs
  readonly advance: (ms: Ms) => void
  readonly set: (given: Partial<Switches>) => void
  readonly resetLog: () => void
}

function assembled(options: SandboxOptions): Parts {
  let switches = checked(switchesWith(options.switches ?? {}))
  const seed = options.seed ?? 1
  const { clock, advance, start } = serviceClock(options)
  const all = [options, ...(options.projects ?? [])].map((project, n) => ({ seed: seed + n, ...project }))
  const projects = new Map(
    all.map((project) => {
      const id = (project.id ?? projectIdOf(project.seed)).toLowerCase()
      const past = { seed: project.seed, size: { ...usualSize, ...project.size }, end: start }
      return [id, projectOf(id, past, clock, () => switches)] as const
    }),
  )
  const [first] = projects.values()
  if (first === undefined || projects.size < all.length) throw new RangeError('every project needs an id of its own')
  const service = serviceOf({ projects, clock, switches: () => switches, seed })
  const faults = faultsOf(diceFor(seed), () => switches)
  let [journal, number, keys]: [JournalEntry[], number, number] = [[], 0, 0]
  const addKey = (key: KeyOptions, projectId: string) => {
    keys += 1
    service.keys.add(key.key, { id: key.id ?? `key_${keys}`, projectId, scopes: key.scopes ?? scopes })
  }
  const ids = [...projects.keys()]
  for (const [n, project] of all.entries()) {
    const usual = [{ key: n === 0 ? usualKey : `${usualKey}_${n + 1}` }]
    for (const key of project.keys ?? usual) addKey(key, ids[n] ?? first.id)
  }
  const gateway: Gateway = {
    service,
    faults,
    find: routerOf(operations),
    journal: () => journal,
    real: () => performance.timeOrigin + performance.now(),
    nextNumber: () => {
      number += 1
      return number
    },
  }
  return {
    gateway,
    faults,
    projects,
    addKey,
    keys: service.keys,
    first,
    firstKey: options.keys?.[0]?.key ?? usualKey,
    clock,
    advance,
    set(given) {
      switches = checked(switchesWith(given, switches))
      const names = Object.keys(given) as SwitchName[]
      if (names.some((name) => name.startsWith('rate.'))) service.allowance.restart()
      if (names.some((name) => name.startsWith('storm.') || name === 'content')) {
        for (const project of projects.values()) project.reset()
      }
    },
    resetLog() {
      journal = []
    },
  }
}

/** Throws a RangeError where a switch names a fault that does not exist. */
function checked(switches: Switches): Switches {
  chosenKinds(switches['fault.kinds'])
  return switches
}

function serviceClock(options: SandboxOptions) {
  const seconds = moment(options.now ?? usualNow)
  if (seconds === undefined) throw new RangeError(`${options.now} is not an RFC 3339 time`)
  const start = seconds * 1000
  const [speed, began] = [options.speed ?? 1, performance.now()]
  let ahead: Ms = 0
  const clock = () => Math.floor(start + (performance.now() - began) * speed + ahead)
  const advance = (ms: Ms) => {
    ahead += ms
  }
  return { start, clock, advance }
}

function handle(parts: Parts, server: Server, port: number, prefix: string): Sandbox {
  const { gateway, first, projects } = parts
  const switches = () => gateway.service.switches()
  const project = (id: string | undefined) => {
    const found = id === undefined ? first : projects.get(id.toLowerCase())
    if (found === undefined) throw new RangeError(`there is no project ${id}`)
    return found
  }
  const origin = `http://127.0.0.1:${port}`
  return {
    origin,
    port,
    baseUrl: `${origin}${prefix}`,
    widgetUrl: origin,
    projectId: first.id,
    key: parts.firstKey,
    projectIds: [...projects.keys()],
    log: () => gateway.journal(),
    counts: () => countsOf(gateway.journal()),
    resetLog: parts.resetLog,
    ledger: (id) => project(id).ledger,
    truth: (stream, id) => truthOf(project(id), stream, switches()),
    rollup: (from, to, id) => rollupOf(project(id), Date.parse(from), Date.parse(to)),
    get mutate() {
      return first.mutate
    },
    mutateIn: (id) => project(id).mutate,
    churn: (n, seed, kinds, id) => churn(project(id).state, project(id).mutate, n, seed, kinds),
    switches,
    set: parts.set,
    fail: parts.faults.script,
    forgetFaults: parts.faults.forget,
    addKey: (key, id) => parts.addKey(key, project(id).id),
    revokeKey: parts.keys.revoke,
    now: parts.clock,
    advance: parts.advance,
    stop: () => stop(server),
    stopped: new Promise((resolve) => server.once('close', () => resolve())),
  }
}

async function listening(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return (server.address() as AddressInfo).port
}

async function stop(server: Server): Promise<void> {
  if (!server.listening) return
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeAllConnections()
  await closed
}
