/** Webhook deliveries: stored as they come, and looked after in portions by whoever is told to. */
import { createHash } from 'node:crypto'
import type { ProjectConfig } from '../../config.ts'
import { CallFailed, describe, type Failure } from '../../core/failure.ts'
import type { Ms } from '../../core/time.ts'
import { type HintDeps, takeHint } from '../../sync/hint.ts'
import { createTally } from '../../sync/tally.ts'
import type { Delivery } from '../../warehouse/deliveries.ts'
import type { Warehouse } from '../../warehouse/open.ts'
import { counted } from '../counted.ts'
import { type Service, withService } from '../service.ts'
import { type Means, serviceOptions } from './means.ts'
import { type Paused, rest, restOf } from './rest.ts'

/** `repeated`: the same bytes were here a moment ago. `full`: so many wait already that it was not stored. */
export type Stored = { readonly id: string; readonly became: 'stored' | 'repeated' | 'full' }

export async function storeDelivery({ deliveries }: Warehouse, project: string, body: Buffer): Promise<Stored> {
  const id = createHash('sha256').update(body).digest('hex')
  const delivery = { id, body: new TextDecoder().decode(body), bytes: body.length }
  if (await deliveries.isFull(project)) return { id, became: 'full' }
  return { id, became: (await deliveries.store(project, delivery, Date.now())) ? 'stored' : 'repeated' }
}

export type HintsEnd =
  /** `lists`: an incremental pass over the lists is needed. */
  | { readonly kind: 'done'; readonly deliveries: number; readonly lists: boolean }
  | Paused
  /** They are due again later. */
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'interrupted' }

export type HintsAsk = {
  readonly signal: AbortSignal
  /** Hears what has been read, before it is noted as done: so nothing that follows from it is lost on the way. */
  readonly announce: (news: { readonly lists: boolean }) => Promise<void>
}

/** A portion: two hundred requests at the most. */
const atOnce = 10

/** Looks after what is due of the project. */
export async function takeDeliveries(means: Means, project: ProjectConfig, ask: HintsAsk): Promise<HintsEnd> {
  const { warehouse, budgets } = means
  const { paused } = await restOf(means, project)
  if (paused !== null) return paused
  const claimed = await warehouse.deliveries.claim(project.projectId, Date.now(), atOnce)
  if (claimed.length === 0) return { kind: 'done', deliveries: 0, lists: false }
  return withService(project, budgets.of(project), serviceOptions(means, project, ask.signal), (service) =>
    counted(warehouse, project, 'webhooks', service, () => takeAll(means, project, service, claimed, ask)),
  )
}

async function takeAll(
  means: Means,
  project: ProjectConfig,
  service: Service,
  claimed: readonly Delivery[],
  { announce }: HintsAsk,
): Promise<HintsEnd> {
  const { warehouse, onLoaded } = means
  const deps = depsOf(warehouse, project, service)
  const done: { readonly id: string; readonly found: string; readonly lists: boolean }[] = []
  let failure: Failure | null = null
  for (const { id, body } of claimed) {
    try {
      done.push({ id, ...(await takeHint(deps, body)) })
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error
      failure = error.failure
      break
    }
  }
  for (const { stream, rows, changed } of deps.tally.reports()) onLoaded(project.name, stream, rows, changed)
  const lists = done.some((it) => it.lists)
  if (done.length > 0) await announce({ lists })
  for (const { id, found } of done) await warehouse.deliveries.settle(project.projectId, id, found, Date.now())
  if (failure === null) return { kind: 'done', deliveries: done.length, lists }

  const left = claimed.slice(done.length)
  const waitMs = failure.kind === 'aborted' ? 0 : backOff(left[0]?.attempts ?? 1)
  const ids = left.map(({ id }) => id)
  await warehouse.deliveries.postpone(project.projectId, ids, Date.now() + waitMs)
  if (failure.kind === 'aborted') return { kind: 'interrupted' }
  if (failure.kind === 'denied') return rest(means, project, failure)
  return { kind: 'failed', why: describe(failure) }
}

function depsOf(warehouse: Warehouse, project: ProjectConfig, { client, signal }: Service): HintDeps {
  const { projectId, streams, schema } = project
  return {
    project: projectId,
    mode: 'incremental',
    streams: new Set(streams),
    get: client.get,
    mirror: warehouse.mirror(projectId, { schema }),
    locate: (ids) => warehouse.deliveries.locate(projectId, ids),
    outcomes: new Map(),
    tally: createTally(Date.now, () => {}),
    now: Date.now,
    signal,
  }
}

/** Half a minute at first, twice as long each time, an hour at the most. */
function backOff(attempts: number): Ms {
  return Math.min(3_600_000, 15_000 * 2 ** Math.min(attempts, 10))
}
