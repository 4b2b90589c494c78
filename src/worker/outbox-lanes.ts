/**
 * Sends write-backs in a worker: finds the lanes that are ready, and works on one of them for a
 * time slice.
 */
import { refreshFacts } from '../app/facts.ts'
import { findClockNotice } from '../app/outbox.ts'
import { readOnlySetting, writebackDeps } from '../app/push.ts'
import { keyFingerprint } from '../app/request-budgets.ts'
import type { ProjectConfig } from '../config/config.ts'
import { listWithWritebacks } from '../maintenance/sql/projects.ts'
import {
  circuitNotices,
  createScopeRefusals,
  evaluateCircuits,
  toClaimFilter,
  withoutProjectNotices,
} from '../outbox/send/circuit-breaker.ts'
import { maxConcurrentLanes, sendLane } from '../outbox/send/lane.ts'
import { createOutbox } from '../outbox/sql/outbox.ts'
import { countWithoutProject } from '../outbox/sql/sending.ts'
import { describeFailure } from '../service/core/api-failure.ts'
import type { EpochMs, Ms } from '../values/time.ts'
import { commandHintFor } from '../values/user-error.ts'
import { withOpened } from '../values/with-opened.ts'
import { readClock } from '../warehouse/dialect.ts'
import {
  currentPause,
  type EarlySliceEnd,
  endByFailure,
  openWorkerService,
  type WorkerResources,
} from './resources.ts'
import type { SliceOptions } from './sync-slice.ts'

export type LaneSliceResult =
  /** Nothing in the lane can be sent now. */
  { readonly kind: 'done' } | EarlySliceEnd

const blockedByLanes = (): EarlySliceEnd => ({
  kind: 'blocked',
  why: 'this process works on as many of its lanes as it may',
  retryMs: 500 + Math.random() * 1000,
})

/** Enqueued at a time, of one project: the next ones are found when these are done. */
const maxReadyLanes = 2 * maxConcurrentLanes

/** After this time, or with another key, a missing scope is tried again. */
const missingScopeTtlMs: Ms = 15 * 60_000

export function createOutboxLanes(resources: WorkerResources) {
  const { warehouse, log, metrics, isNewMessage, sendRecordOf } = resources
  const knownScopes = new Map<
    string,
    {
      readonly refusals: ReturnType<typeof createScopeRefusals>
      readonly key: string
      readonly until: EpochMs
    }
  >()
  const loggedCircuits = new Map<string, string>()
  const runningSlices = new Map<string, number>()
  const revoked = new Set<string>()
  let hadRowsWithoutProject = false

  const scopesOf = (project: ProjectConfig) => {
    const known = knownScopes.get(project.projectId)
    const key = keyFingerprint(project)
    if (known !== undefined && known.key === key && known.until >= Date.now()) return known.refusals
    const refusals = createScopeRefusals()
    knownScopes.set(project.projectId, { refusals, key, until: Date.now() + missingScopeTtlMs })
    return refusals
  }
  /** What may be sent now; null: nothing. */
  const readFilter = async (project: ProjectConfig) => {
    const { projectId, name } = project
    if ((await sendRecordOf(project).findHold()) !== null) return null
    const outcomes = await createOutbox(warehouse.projectDb(projectId)).listRecentOutcomes()
    const circuits = evaluateCircuits(outcomes, Date.now())
    const why = circuitNotices(circuits, commandHintFor(name)).join(' ')
    // Each reason once, until it changes.
    if (why !== '' && loggedCircuits.get(projectId) !== why)
      log.warn({ event: 'writebacks.circuit_open', project: name, why })
    loggedCircuits.set(projectId, why)
    return toClaimFilter(circuits, [...scopesOf(project).denied().keys()])
  }
  const findReadyLanes = async (project: ProjectConfig) => {
    const filter =
      (await currentPause(resources, project)).pause === null ? await readFilter(project) : null
    if (filter === null) return []
    const now = await readClock(warehouse.db, warehouse.kind)
    const lanes = await createOutbox(warehouse.projectDb(project.projectId)).findClaimable(
      now(),
      maxReadyLanes,
      filter,
    )
    return lanes.map(({ lane }) => ({ project: project.name, lane }))
  }
  const revoke = async ({ projectId }: ProjectConfig) => {
    if (!revoked.has(projectId))
      await createOutbox(warehouse.projectDb(projectId)).revokeSending(readOnlySetting)
    revoked.add(projectId)
    return []
  }
  /**
   * Warns once, until there are none. With a single project such rows are assigned to it the next
   * time.
   */
  const warnWithoutProject = async (hasRows: boolean) => {
    const isNew = hasRows && !hadRowsWithoutProject
    const [why] = isNew ? withoutProjectNotices(await countWithoutProject(warehouse)) : []
    if (why !== undefined) log.warn({ event: 'writebacks.without_project', why })
    hadRowsWithoutProject = hasRows
  }
  const runSlice = async (
    project: ProjectConfig,
    lane: string,
    { sliceMs, signal }: Pick<SliceOptions, 'sliceMs' | 'signal'>,
  ): Promise<LaneSliceResult> => {
    const outbox = createOutbox(warehouse.projectDb(project.projectId))
    const { pause } = await currentPause(resources, project)
    if (pause !== null) return pause
    const filter = await readFilter(project)
    if (filter === null) return { kind: 'done' }
    const now = await readClock(warehouse.db, warehouse.kind)
    const [head] = await outbox.findClaimable(now(), 1, { ...filter, lane })
    if (head === undefined) return { kind: 'done' }
    const endsAt = performance.now() + sliceMs
    return withOpened(async (use) => {
      const service = openWorkerService(use, resources, project, signal, 'writebacks')
      try {
        const deps = sendRecordOf(project).guard(
          await writebackDeps(warehouse, project, service, log),
        )
        const failure = await sendLane(deps, head, {
          claimFilter: () => filter,
          canContinue: () => performance.now() < endsAt,
          onSettled: ({ status }, { operation }) => {
            metrics.countSettled({ project: project.name, status })
            if (status === 'succeeded') scopesOf(project).accept(operation)
          },
        })
        await outbox.recordFinishedBatches()
        await refreshFacts(warehouse, project, { signal, maxMs: sliceMs, log })
        if (signal.aborted) return { kind: 'interrupted' }
        if (failure !== null) {
          scopesOf(project).add(lane, head.operation, failure)
          return { kind: 'failed', why: describeFailure(failure) }
        }
        return { kind: performance.now() < endsAt ? 'done' : 'more' }
      } catch (error) {
        return endByFailure(resources, project, error)
      }
    })
  }

  return {
    /**
     * Passes on some lanes of each of these projects that are ready now: those to be verified, then
     * the others; oldest first. Throws what one project fails with when the others have been asked.
     */
    enqueueReady: async (
      projects: readonly ProjectConfig[],
      enqueue: (
        lanes: readonly { readonly project: string; readonly lane: string }[],
      ) => Promise<void>,
    ): Promise<void> => {
      const writable = projects.filter(({ readOnly }) => !readOnly)
      const [project] = writable
      if (project !== undefined && projects.length === 1)
        await createOutbox(warehouse.projectDb(project.projectId)).assignProject()
      const waiting = await listWithWritebacks(warehouse.db)
      const clockNotice = project === undefined ? null : await findClockNotice(warehouse)
      if (clockNotice !== null && isNewMessage('clock.off'))
        log.warn({ event: 'clock.off', why: clockNotice })
      await warnWithoutProject(projects.length > 1 && waiting.has(''))
      const found = await Promise.allSettled([
        ...projects.filter(({ readOnly }) => readOnly).map(revoke),
        ...writable.filter(({ projectId }) => waiting.has(projectId)).map(findReadyLanes),
      ])
      await enqueue(found.flatMap((one) => (one.status === 'fulfilled' ? one.value : [])))
      for (const one of found) if (one.status === 'rejected') throw one.reason
    },
    runSlice: async (...slice: Parameters<typeof runSlice>): Promise<LaneSliceResult> => {
      const [{ projectId }] = slice
      const count = runningSlices.get(projectId) ?? 0
      if (count >= maxConcurrentLanes) return blockedByLanes()
      runningSlices.set(projectId, count + 1)
      return runSlice(...slice).finally(() =>
        runningSlices.set(projectId, (runningSlices.get(projectId) ?? 1) - 1),
      )
    },
  }
}
