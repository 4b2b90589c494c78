/** All of a worker that outlives a pass: the open warehouse, the budgets, its place among the other workers. */
import { randomUUID } from 'node:crypto'
import { openConnections } from '../../api/connections.ts'
import type { Config, ProjectConfig } from '../../config.ts'
import { type ChildStream, childStreams } from '../../core/mirror.ts'
import type { StreamName } from '../../core/row.ts'
import type { EpochMs } from '../../core/time.ts'
import type { Vitals } from '../../core/vitals.ts'
import type { FailureLog } from '../../warehouse/failures.ts'
import { openWarehouse } from '../../warehouse/open.ts'
import { openBudgets } from '../budgets.ts'
import { type HintsAsk, type HintsEnd, type Stored, storeDelivery, takeDeliveries } from './deliveries.ts'
import { type Lanes, openLanes } from './lanes.ts'
import type { Means, WorkplaceOptions } from './means.ts'
import { createNews } from './news.ts'
import { type PassAsk, type PassEnd, pass } from './pass.ts'
import { type Roles, rolesIn } from './roles.ts'
import { rollupsBehind } from './rollups.ts'
import { vitalsOf } from './vitals.ts'

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
  /** Whether the rollups begin later than they should, or are days of another time zone than they should be. */
  readonly rollupsBehind: (project: ProjectConfig) => Promise<boolean>
  /** When each stream last came to its end, by the project's id; 0 = never, as the key lacks its scope. */
  readonly lastEnds: () => Promise<ReadonlyMap<string, ReadonlyMap<StreamName, EpochMs>>>
  readonly vitals: (projects: readonly ProjectConfig[]) => Promise<readonly Vitals[]>
  /** Where it is noted what fails. */
  readonly failureLog: FailureLog
  readonly lead: Roles['lead']
  /** A sign of life, for `status`. `queue`: redis, postgres or embedded. */
  readonly beat: (queue: string) => Promise<void>
  /** Forgets runs of last week that changed nothing, and what webhooks brought a month ago; renews statistics. */
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
  const means: Means = { ...options, warehouse, budgets, connections, isNews: createNews() }
  const { fleet } = warehouse
  const id = randomUUID()
  const roles = rolesIn(warehouse)

  return {
    pass: (project, ask) => pass(means, project, ask),
    lanes: openLanes(means),
    storeDelivery: (projectId, body) => storeDelivery(warehouse, projectId, body),
    takeDeliveries: (project, ask) => takeDeliveries(means, project, ask),
    dueDeliveries: () => warehouse.deliveries.due(Date.now()),
    children: async ({ projectId, streams }) => {
      const mirrored = (Object.keys(childStreams) as ChildStream[]).filter((stream) => streams.includes(stream))
      const due = await fleet.dueStreams(projectId, Date.now())
      const read = mirrored.filter((stream) => !due.includes(stream))
      await fleet.noteEnd(projectId, read, Date.now())
      return mirrored.filter((stream) => due.includes(stream))
    },
    rollupsBehind: (project) => rollupsBehind(warehouse, project),
    allDue: () => fleet.allDue(Date.now()),
    lastEnds: async () => {
      const moments = (of: ReadonlyMap<StreamName, { at: EpochMs | null; skipped: boolean }>) =>
        new Map([...of].flatMap(([stream, { at, skipped }]) => ((at ?? skipped) ? [[stream, at ?? 0] as const] : [])))
      return new Map([...(await fleet.ends())].map(([project, of]) => [project, moments(of)]))
    },
    vitals: (projects) => vitalsOf(means, projects),
    failureLog: warehouse.failures,
    lead: roles.lead,
    beat: (queue) => fleet.beatWorker(id, queue, Date.now()),
    keepHouse: async () => {
      const runsForgotten = await fleet.forgetIdleRuns(Date.now() - idleRunsKeptMs)
      const old = await warehouse.deliveries.forget(Date.now() - deliveriesKeptMs)
      const deliveriesForgotten = old + (await warehouse.deliveries.trim())
      await warehouse.renewStatistics()
      return { runsForgotten, deliveriesForgotten }
    },
    ping: () => fleet.ping(),
    close: async () => {
      await roles.release()
      await fleet.forgetWorker(id).catch(() => {})
      budgets.close()
      await connections.close()
      await warehouse.close()
    },
  }
}
