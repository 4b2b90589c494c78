/** Starts the sandbox: a full, stateful server of the API on loopback, with controls for tests. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { callOperations } from './api/call-operations.ts'
import { conversationOperations } from './api/conversation-operations.ts'
import { createRouter, type Operation } from './api/operation.ts'
import { overviewOperations } from './api/overview-operations.ts'
import { visitorOperations } from './api/visitor-operations.ts'
import { createServiceClock, realNow } from './clock.ts'
import type { Sandbox } from './handle.ts'
import type { SandboxOptions } from './options.ts'
import type { Project } from './project.ts'
import { createKeys, createProjects, defaultKey } from './projects.ts'
import { applyRandomMutations } from './random-mutations.ts'
import { computeRollup } from './rollup.ts'
import { createControl } from './server/control.ts'
import { createFaults } from './server/faults.ts'
import { createListener } from './server/listener.ts'
import type { ServerContext } from './server/request-handler.ts'
import { countRequests, type RequestLogEntry } from './server/request-log.ts'
import { createService, type SandboxService } from './service.ts'
import { createSwitchSettings, type SwitchSettings } from './switch-settings.ts'
import { truthOf } from './truth.ts'

export type { Sandbox } from './handle.ts'
export type { KeyOptions, ProjectOptions, SandboxOptions } from './options.ts'

/** Every operation of the service, except the widget's token. */
export const operations: readonly Operation[] = [
  ...conversationOperations,
  ...visitorOperations,
  ...callOperations,
  ...overviewOperations,
]

export const defaultNow = '2026-06-01T12:00:00Z'

/** Resolves when it listens. Throws RangeError for invalid options, and the system's error for a port in use. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const [seed, prefix] = [options.seed ?? 1, options.prefix ?? '']
  const switchSettings = createSwitchSettings(options.switches ?? {})
  const clock = createServiceClock(options.now ?? defaultNow, options.speed ?? 1)
  const projects = createProjects(options, clock, switchSettings.current)
  const service = createService({ projects, clock: clock.now, switches: switchSettings.current, seed })
  const addKey = createKeys(options, [...projects.keys()], service.keys)
  applySwitchChanges(switchSettings, service)
  const requestLog: RequestLogEntry[] = []
  const serverContext = createServerContext(service, requestLog)
  const server = createServer({ keepAliveTimeout: 65_000, requestTimeout: 0 })
  const port = await listen(server, options.port ?? 0)
  const origin = `http://127.0.0.1:${port}`
  const project = createProjectFinder(projects)
  const sandbox: Sandbox = {
    origin,
    port,
    baseUrl: `${origin}${prefix}`,
    widgetUrl: origin,
    key: options.keys?.[0]?.key ?? defaultKey,
    projectIds: [...projects.keys()],
    ...createReaders(service, requestLog, project),
    ...createMutators(service, project),
    // Read on each access, because some switches recreate the project's data.
    get mutate() {
      return project().mutate
    },
    switches: switchSettings.current,
    setSwitches: switchSettings.set,
    scriptFault: serverContext.faults.script,
    clearFaults: serverContext.faults.clear,
    addKey: (key, id) => addKey(key, project(id).id),
    advance: clock.advance,
    stop: () => stopServer(server),
    stopped: new Promise((resolve) => server.once('close', () => resolve())),
  }
  server.on('request', createListener(serverContext, prefix, createControl(sandbox)))
  return sandbox
}

/** Some switches are built into existing state: the rate limiters, and the seed data. */
function applySwitchChanges(switchSettings: SwitchSettings, service: SandboxService): void {
  switchSettings.onChange((names) => {
    if (names.some((name) => name.startsWith('rate.'))) service.keyLimits.reset()
    if (!names.some((name) => name.startsWith('storm.') || name === 'content' || name === 'rows.rhythm')) return
    for (const project of service.projects.values()) project.reset()
  })
}

function createServerContext(service: SandboxService, requestLog: RequestLogEntry[]): ServerContext {
  let number = 0
  return {
    service,
    faults: createFaults(service.random, service.switches),
    findRoute: createRouter(operations),
    requestLog,
    realNow,
    nextNumber: () => ++number,
  }
}

type ProjectFinder = (id?: string) => Project

/** Without an id it finds the first project. */
function createProjectFinder(projects: ReadonlyMap<string, Project>): ProjectFinder {
  const [first] = projects.values()
  return (id) => {
    const found = id === undefined ? first : projects.get(id.toLowerCase())
    if (found === undefined) throw new RangeError(`there is no project ${id}`)
    return found
  }
}

function createReaders(service: SandboxService, requestLog: RequestLogEntry[], findProject: ProjectFinder) {
  return {
    projectId: findProject().id,
    log: () => [...requestLog],
    counts: () => countRequests(requestLog),
    resetLog() {
      requestLog.length = 0
    },
    ledger: (id) => findProject(id).ledger,
    truth: (stream, id) => truthOf(findProject(id), stream, service.switches()),
    rollup: (from, to, id) =>
      computeRollup(findProject(id), { from: Date.parse(from), to: Date.parse(to) }, service.switches()),
    now: service.clock,
  } satisfies Partial<Sandbox>
}

function createMutators(service: SandboxService, findProject: ProjectFinder) {
  return {
    mutateIn: (id) => findProject(id).mutate,
    applyRandomMutations: (n, seed, kinds, id) => applyRandomMutations(findProject(id), n, seed, kinds),
    // Takes effect at once, as in the service.
    revokeKey: (key) => void service.keys.delete(key),
  } satisfies Partial<Sandbox>
}

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return (server.address() as AddressInfo).port
}

async function stopServer(server: Server): Promise<void> {
  if (!server.listening) return
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeAllConnections()
  await closed
}
