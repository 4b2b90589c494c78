/** Webhook deliveries: stored as they arrive, and processed in batches by jobs. */
import { createHash } from 'node:crypto'
import { openMirror, refreshFacts } from '../app/facts.ts'
import type { Warehouse } from '../app/open.ts'
import type { Service } from '../app/service.ts'
import type { ProjectConfig } from '../config/config.ts'
import type { WebhookDelivery } from '../mirror/mirror.ts'
import { createDeliveries } from '../mirror/sql/webhook-deliveries.ts'
import { createWebhookDeps, syncReferencedRows } from '../mirror/sync/rows-by-id.ts'
import { ApiError, type ApiFailure, describeFailure } from '../service/core/api-failure.ts'
import type { ProjectId } from '../values/project.ts'
import type { Ms } from '../values/time.ts'
import { currentPause, type PausedResult, pauseProject, type WorkerResources, withWorkerService } from './resources.ts'

/** `repeated`: the same bytes were stored before. `full`: too many are waiting, so it was not stored. */
export async function storeDelivery({ db, kind }: Warehouse, project: ProjectId, body: Buffer) {
  const deliveries = createDeliveries(db, kind)
  const id = createHash('sha256').update(body).digest('hex')
  if (await deliveries.isFull(project)) return { id, result: 'full' } as const
  const delivery = { id, body: new TextDecoder().decode(body), bytes: body.length }
  const isNew = await deliveries.store(project, delivery, Date.now())
  return { id, result: isNew ? 'stored' : 'repeated' } as const
}

export type DeliveriesResult =
  /** `lists`: an incremental sync of the lists is needed. */
  | { readonly kind: 'done'; readonly deliveries: number; readonly lists: boolean }
  | PausedResult
  /** They are retried later. */
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'interrupted' }

type DeliveriesOptions = {
  readonly signal: AbortSignal
  /** Called before the deliveries are marked as done, so that no follow-up is lost. */
  readonly enqueueFollowUps: (result: { readonly lists: boolean }) => Promise<void>
}

/** Two hundred requests at most. */
const deliveriesPerBatch = 10

export async function processDeliveries(
  resources: WorkerResources,
  project: ProjectConfig,
  options: DeliveriesOptions,
): Promise<DeliveriesResult> {
  const { warehouse } = resources
  const { pause } = await currentPause(resources, project)
  if (pause !== null) return pause
  const deliveries = createDeliveries(warehouse.db, warehouse.kind)
  const claimed = await deliveries.claim(project.projectId, Date.now(), deliveriesPerBatch)
  if (claimed.length === 0) return { kind: 'done', deliveries: 0, lists: false }
  return withWorkerService(resources, project, options.signal, 'webhooks', (service) =>
    processClaimed(resources, project, service, claimed, options),
  )
}

async function processClaimed(
  resources: WorkerResources,
  project: ProjectConfig,
  service: Service,
  claimed: readonly WebhookDelivery[],
  { enqueueFollowUps }: DeliveriesOptions,
): Promise<DeliveriesResult> {
  const { warehouse, metrics, log } = resources
  const { projectId, streams, schema } = project
  const deliveries = createDeliveries(warehouse.db, warehouse.kind)
  const deps = createWebhookDeps({
    ...{ projectId, get: service.client.get, signal: service.signal, now: Date.now },
    streams: new Set(streams),
    mirror: openMirror(warehouse, projectId, { schema }),
    locateRows: (ids) => deliveries.locateRows(projectId, ids),
  })
  const done: { readonly id: string; readonly found: string; readonly needsListSync: boolean }[] = []
  let failure: ApiFailure | null = null
  for (const { id, body } of claimed) {
    try {
      done.push({ id, ...(await syncReferencedRows(deps, body)) })
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      failure = error.failure
      break
    }
  }
  for (const notice of deps.notices) log.warn({ event: 'sync.noticed', project: project.name, notice })
  for (const report of deps.stats.reports()) metrics.countStream(project.name, report)
  const lists = done.some(({ needsListSync }) => needsListSync)
  if (done.length > 0) await enqueueFollowUps({ lists })
  await refreshFacts(warehouse, project, { signal: service.signal, log })
  for (const { id, found } of done) await deliveries.settle(projectId, id, found, Date.now())
  if (failure === null) return { kind: 'done', deliveries: done.length, lists }

  const unprocessed = claimed.slice(done.length)
  const waitMs = failure.kind === 'aborted' ? 0 : retryDelayMs(unprocessed[0]?.attempts ?? 1)
  const ids = unprocessed.map(({ id }) => id)
  await deliveries.postpone(projectId, ids, Date.now() + waitMs)
  if (failure.kind === 'aborted') return { kind: 'interrupted' }
  if (failure.kind === 'denied') return pauseProject(resources, project, failure)
  return { kind: 'failed', why: describeFailure(failure) }
}

/** Half a minute at first, doubled each time, at most an hour. */
const retryDelayMs = (attempts: number): Ms => Math.min(3_600_000, 15_000 * 2 ** Math.min(attempts, 10))
