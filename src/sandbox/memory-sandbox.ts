/** The sandbox without its network: the projects, their keys, clock, limits and request log, and what tests do to them. */
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
import { createFaults } from './server/faults.ts'
import type { ServerContext } from './server/receive-request.ts'
import { countRequests, type RequestLogEntry } from './server/request-log.ts'
import { createService, type SandboxService } from './service.ts'
import { createSwitchSettings, type SwitchSettings } from './switch-settings.ts'
import { truthOf } from './truth.ts'

/** Every operation of the service, except the widget's token. */
export const operations: readonly Operation[] = [
  ...conversationOperations,
  ...visitorOperations,
  ...callOperations,
  ...overviewOperations,
]

export const defaultNow = '2026-06-01T12:00:00Z'

type NetworkMembers = 'origin' | 'port' | 'baseUrl' | 'widgetUrl' | 'stop' | 'stopped'

/** `context`: what answers requests; see `receiveRequest`. */
export type MemorySandbox = Omit<Sandbox, NetworkMembers> & { readonly context: ServerContext }

/** Throws RangeError for invalid options. */
export function createMemorySandbox(options: Omit<SandboxOptions, 'port' | 'prefix'> = {}): MemorySandbox {
  const switchSettings = createSwitchSettings(options.switches ?? {})
  const clock = createServiceClock(options.now ?? defaultNow, options.speed ?? 1)
  const projects = createProjects(options, clock, switchSettings.current)
  const parts = { projects, clock: clock.now, switches: switchSettings.current, seed: options.seed ?? 1 }
  const service = createService(parts)
  const addKey = createKeys(options, [...projects.keys()], service.keys)
  applySwitchChanges(switchSettings, service)
  const requestLog: RequestLogEntry[] = []
  const context = createServerContext(service, requestLog)
  const project = createProjectFinder(projects)
  return {
    context,
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
    scriptFault: context.faults.script,
    clearFaults: context.faults.clear,
    addKey: (key, id) => addKey(key, project(id).id),
    advance: clock.advance,
  }
}

const seedSwitches: readonly string[] = ['content', 'rows.rhythm', 'ids.letters']

/** Some switches are built into existing state: the rate limiters, and the seed data. */
function applySwitchChanges(switchSettings: SwitchSettings, service: SandboxService): void {
  switchSettings.onChange((names) => {
    if (names.some((name) => name.startsWith('rate.'))) service.keyLimits.reset()
    if (!names.some((name) => name.startsWith('storm.') || seedSwitches.includes(name))) return
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
