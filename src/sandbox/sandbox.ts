/** Starts the service double: a full, stateful server of the API on loopback, and the strings that a test pulls. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { routerOf } from './api/operation.ts'
import { operations } from './api/operations.ts'
import { rollupOf } from './api/overview-operations.ts'
import { churn } from './churn.ts'
import { realClock, serviceClock } from './clock.ts'
import type { Sandbox } from './handle.ts'
import type { SandboxOptions } from './options.ts'
import type { Project } from './project.ts'
import { controlOf } from './server/control.ts'
import { faultsOf } from './server/faults.ts'
import type { Gateway } from './server/gateway.ts'
import { countsOf, type JournalEntry } from './server/journal.ts'
import { listenerOf } from './server/listener.ts'
import { type Service, serviceOf } from './service.ts'
import { type Switchboard, switchboard } from './switchboard.ts'
import { cutKeys, projectsFrom, usualKey } from './tenants.ts'
import { truthOf } from './truth.ts'

export type { Sandbox } from './handle.ts'
export type { KeyOptions, ProjectOptions, SandboxOptions } from './options.ts'

export const usualNow = '2026-06-01T12:00:00Z'

/** Listens when it resolves. Throws a RangeError for options that cannot be, and the system's error for a port in use. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const [seed, prefix] = [options.seed ?? 1, options.prefix ?? '']
  const board = switchboard(options.switches ?? {})
  const clock = serviceClock(options.now ?? usualNow, options.speed ?? 1)
  const projects = projectsFrom(options, clock, board.now)
  const service = serviceOf({ projects, clock: clock.now, switches: board.now, seed })
  const addKey = cutKeys(options, [...projects.keys()], service.keys)
  obey(board, service)
  const journal: JournalEntry[] = []
  const gateway = gatewayOf(service, journal)
  const server = createServer({ keepAliveTimeout: 65_000, requestTimeout: 0 })
  const port = await listening(server, options.port ?? 0)
  const origin = `http://127.0.0.1:${port}`
  const project = projectFinder(projects)
  const sandbox: Sandbox = {
    origin,
    port,
    baseUrl: `${origin}${prefix}`,
    widgetUrl: origin,
    key: options.keys?.[0]?.key ?? usualKey,
    projectIds: [...projects.keys()],
    ...askable(service, journal, project),
    ...pullable(service, project),
    // Asked for anew each time: some switches make the project's past anew.
    get mutate() {
      return project().mutate
    },
    switches: board.now,
    set: board.set,
    fail: gateway.faults.script,
    forgetFaults: gateway.faults.forget,
    addKey: (key, id) => addKey(key, project(id).id),
    advance: clock.advance,
    stop: () => stop(server),
    stopped: new Promise((resolve) => server.once('close', () => resolve())),
  }
  server.on('request', listenerOf(gateway, prefix, controlOf(sandbox)))
  return sandbox
}

/** Some switches are built into what already stands: the counts of the limits, and the past. */
function obey(board: Switchboard, service: Service): void {
  board.onSet((names) => {
    if (names.some((name) => name.startsWith('rate.'))) service.allowance.restart()
    if (!names.some((name) => name.startsWith('storm.') || name === 'content')) return
    for (const project of service.projects.values()) project.reset()
  })
}

function gatewayOf(service: Service, journal: JournalEntry[]): Gateway {
  let number = 0
  return {
    service,
    faults: faultsOf(service.dice, service.switches),
    find: routerOf(operations),
    journal,
    real: realClock,
    nextNumber: () => {
      number += 1
      return number
    },
  }
}

type ProjectFinder = (id?: string) => Project

/** Where no project is named, the first is meant. */
function projectFinder(projects: ReadonlyMap<string, Project>): ProjectFinder {
  const [first] = projects.values()
  return (id) => {
    const found = id === undefined ? first : projects.get(id.toLowerCase())
    if (found === undefined) throw new RangeError(`there is no project ${id}`)
    return found
  }
}

function askable(service: Service, journal: JournalEntry[], project: ProjectFinder) {
  return {
    projectId: project().id,
    log: () => [...journal],
    counts: () => countsOf(journal),
    resetLog() {
      journal.length = 0
    },
    ledger: (id) => project(id).ledger,
    truth: (stream, id) => truthOf(project(id), stream, service.switches()),
    rollup: (from, to, id) => rollupOf(project(id), Date.parse(from), Date.parse(to)),
    now: service.clock,
  } satisfies Partial<Sandbox>
}

function pullable(service: Service, project: ProjectFinder) {
  return {
    mutateIn: (id) => project(id).mutate,
    churn: (n, seed, kinds, id) => churn(project(id).state, project(id).mutate, n, seed, kinds),
    revokeKey: service.keys.revoke,
  } satisfies Partial<Sandbox>
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
