/** All of a worker that outlives a pass: the open warehouse, the budgets, its place among the other workers. */
import { randomUUID } from 'node:crypto'
import { openConnections } from '../api/connections.ts'
import type { Config, ProjectConfig } from '../config.ts'
import { type ChildStream, childStreams, type RunOutcome } from '../core/mirror.ts'
import type { StreamName } from '../core/row.ts'
import type { EpochMs, Ms } from '../core/time.ts'
import type { Vitals } from '../core/vitals.ts'
import { openWarehouse, type Warehouse } from '../warehouse/open.ts'
import { type Budgets, openBudgets } from './budgets.ts'
import { type HintsAsk, type HintsEnd, type Stored, storeDelivery, takeDeliveries } from './deliveries.ts'
import { type Lanes, openLanes } from './lanes.ts'
import type { Means, WorkplaceOptions } from './means.ts'
import { type Paused, rest, restOf } from './rest.ts'
import { type Held, runUnder } from './run.ts'

/** What a worker's schedules ask for; `full` is asked for by people only. */
export type PassMode = 'incremental' | 'reconcile'

/** `portionMs`: after so long the pass ends where it can go on later. `signal`: after the page in hand. */
export type PassAsk = {
  readonly stream: StreamName
  readonly mode: PassMode
  readonly portionMs: Ms
  readonly signal: AbortSignal
}

export type PassEnd =
  | { readonly kind: 'done'; readonly outcome: RunOutcome; readonly changed: number }
  /** The portion is over and there is more: to be gone on with in this mode. */
  | { readonly kind: 'more'; readonly mode: PassMode }
  /** Somebody else reads the stream just now. */
  | { readonly kind: 'busy'; readonly holder: string }
  /** The service denies the key: the project rests. */
  | Paused
  /** Trying again may help. */
  | { readonly kind: 'failed'; readonly why: string }
  /** Stopped on request. */
  | { readonly kind: 'interrupted' }

export type Workplace = {
  readonly pass: (project: ProjectConfig, ask: PassAsk) => Promise<PassEnd>
  readonly lanes: Lanes
  /** Stores what a webhook brought for the project with that id. */
  readonly storeDelivery: (projectId: string, body: Buffer) => Promise<Stored>
  /** Looks after some of what webhooks have brought for the project. */
  readonly takeDeliveries: (project: ProjectConfig, ask: HintsAsk) => Promise<HintsEnd>
  /** One delivery of each project, by its id, that has some to be looked after. */
  readonly dueDeliveries: () => Promise<readonly { readonly project: string; readonly id: string }[]>
  /** Child streams of the project that it mirrors and that have something due now. The others are noted as read to their end. */
  readonly children: (project: ProjectConfig) => Promise<readonly ChildStream[]>
  /** The same of all projects, by their id, and without any note. */
  readonly allDue: () => Promise<ReadonlyMap<string, readonly ChildStream[]>>
  /** When each stream last came to its end, by the project's id. */
  readonly lastEnds: () => Promise<ReadonlyMap<string, ReadonlyMap<StreamName, EpochMs>>>
  readonly vitals: (projects: readonly ProjectConfig[]) => Promise<readonly Vitals[]>
  /** Takes or keeps a role that one of all workers has; false: another one has it. */
  readonly lead: (role: string) => Promise<boolean>
  /** A sign of life, for `status`. `queue`: redis, postgres or embedded. */
  readonly beat: (queue: string) => Promise<void>
  /** Forgets runs of last week that changed nothing, and what webhooks brought a month ago. */
  readonly keepHouse: () => Promise<{ readonly runsForgotten: number; readonly deliveriesForgotten: number }>
  /** Rejects where the warehouse does not answer. */
  readonly ping: () => Promise<void>
  readonly close: () => Promise<void>
}

const idleRunsKeptMs = 7 * 86_400_000
const deliveriesKeptMs = 30 * 86_400_000

/** Throws UserError where the warehouse cannot be opened. */
export async function openWorkplace(config: Config, options: WorkplaceOptions): Promise<Workplace> {
  const warehouse = await openWarehouse(config.databaseUrl)
  const budgets = await openBudgets(config.queueUrl, warehouse, options.log).catch(async (error: unknown) => {
    await warehouse.close()
    throw error
  })
  const connections = openConnections()
  const { fleet } = warehouse
  const id = randomUUID()
  const roles = new Map<string, Held>()

  const means: Means = { warehouse, budgets, connections }
  return {
    pass: (project, ask) => pass(means, project, ask, options),
    lanes: openLanes(means, options),
    storeDelivery: (projectId, body) => storeDelivery(warehouse, projectId, body),
    takeDeliveries: (project, ask) => takeDeliveries(means, project, ask, options),
    dueDeliveries: () => warehouse.deliveries.due(Date.now()),
    children: async ({ projectId, streams }) => {
      const mirrored = (Object.keys(childStreams) as ChildStream[]).filter((stream) => streams.includes(stream))
      const due = await fleet.dueStreams(projectId, Date.now())
      await fleet.noteEnd(
        projectId,
        mirrored.filter((stream) => !due.includes(stream)),
        Date.now(),
      )
      return mirrored.filter((stream) => due.includes(stream))
    },
    allDue: () => fleet.allDue(Date.now()),
    lastEnds: async () => {
      const moments = (of: ReadonlyMap<StreamName, { at: EpochMs | null }>) =>
        new Map([...of].flatMap(([stream, { at }]) => (at === null ? [] : [[stream, at] as const])))
      return new Map([...(await fleet.ends())].map(([project, of]) => [project, moments(of)]))
    },
    vitals: (projects) => vitals(warehouse, budgets, projects),
    lead: async (role) => {
      const held = roles.get(role)
      if (held !== undefined && (await held.beat(Date.now()))) return true
      roles.delete(role)
      const lock = await warehouse.lock(everyProject, [role], Date.now())
      if (lock.held) roles.set(role, lock)
      return lock.held
    },
    beat: (queue) => fleet.beatWorker(id, queue, Date.now()),
    keepHouse: async () => ({
      runsForgotten: await fleet.forgetIdleRuns(Date.now() - idleRunsKeptMs),
      deliveriesForgotten: await warehouse.deliveries.forget(Date.now() - deliveriesKeptMs),
    }),
    ping: () => fleet.ping(),
    close: async () => {
      for (const role of roles.values()) await role.release().catch(() => {})
      await fleet.forgetWorker(id).catch(() => {})
      budgets.close()
      await connections.close()
      await warehouse.close()
    },
  }
}

/** No project's id: roles are held in the table of locks, too. */
const everyProject = '*'

async function pass(
  { warehouse, budgets, connections }: Means,
  project: ProjectConfig,
  ask: PassAsk,
  { log, onOutcome, onLoaded }: WorkplaceOptions,
): Promise<PassEnd> {
  const { fleet } = warehouse
  const { paused, noted } = await restOf(fleet, project)
  if (paused !== null) return paused
  const lock = await warehouse.lock(project.projectId, [ask.stream], Date.now())
  if (!lock.held) return { kind: 'busy', holder: lock.holder }
  const endsAt = performance.now() + ask.portionMs
  const { synced, lost } = await runUnder(lock, warehouse, budgets, project, {
    ...ask,
    streams: [ask.stream],
    isEnough: () => performance.now() >= endsAt,
    onProgress: () => {},
    onOutcome: (lane, outcome) => onOutcome(project.name, lane, outcome),
    connections,
    log,
  })
  for (const { stream, rows, changed } of synced.reports) onLoaded(project.name, stream, rows, changed)
  for (const notice of synced.notices) log.warn({ event: 'pass.noticed', project: project.name, notice })
  if (synced.stopped?.kind === 'denied') return rest(fleet, project, synced.stopped, log)
  if (noted) await fleet.pause(project.projectId, null)
  if (ask.signal.aborted) return { kind: 'interrupted' }
  if (lost) return { kind: 'busy', holder: 'another process' }
  switch (synced.outcome) {
    case 'interrupted':
      // What a reconcile asks of children is noted on them by its first portion.
      return { kind: 'more', mode: ask.stream in childStreams ? 'incremental' : ask.mode }
    case 'failed':
      return { kind: 'failed', why: whyFailed(synced.reports) }
    default:
      return {
        kind: 'done',
        outcome: synced.outcome,
        changed: synced.reports.reduce((sum, report) => sum + report.changed, 0),
      }
  }
}

function whyFailed(reports: readonly { readonly failed: string | null }[]): string {
  return reports.find(({ failed }) => failed !== null)?.failed ?? 'the service does not answer'
}

async function vitals(
  warehouse: Warehouse,
  budgets: Budgets,
  projects: readonly ProjectConfig[],
): Promise<readonly Vitals[]> {
  const now = Date.now()
  const standings = await warehouse.fleet.standings(now)
  const paused = await warehouse.fleet.paused(now)
  return Promise.all(
    projects.map(async (project): Promise<Vitals> => {
      const standing = standings.get(project.projectId)
      return {
        project: project.name,
        streams: project.streams.map((stream) => {
          const end = standing?.ends.get(stream)
          const due = standing?.due.get(stream as ChildStream) ?? 0
          const lagMs = end?.at == null ? null : Math.max(0, now - end.at)
          return { stream, lagMs, due, failed: end?.failed ?? false, skipped: end?.skipped ?? false }
        }),
        gaps: standing?.gaps ?? 0,
        writebacks: standing?.writebacks ?? {},
        budget:
          (await budgets
            .known(project)
            ?.view()
            .catch(() => null)) ?? null,
        paused: paused.has(project.projectId),
      }
    }),
  )
}
