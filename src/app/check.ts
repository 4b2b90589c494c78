/** Runs `check`: requests and queries that show whether a sync can work. Changes nothing. */
import type { Config, ProjectConfig } from '../config/config.ts'
import { findProxy, type HttpProxy } from '../config/proxy.ts'
import { allStreams } from '../mirror/core/streams.ts'
import {
  ApiError,
  describeFailure,
  explainBudgetFailure,
  proxyProblemOf,
} from '../service/core/api-failure.ts'
import type { ApiGet, ApiResponse, QueryParams } from '../service/core/api-request.ts'
import type { BudgetView } from '../service/core/budget.ts'
import { projectIdProblem } from '../service/core/path-segment.ts'
import { isMissingScope } from '../service/core/whose-refusal.ts'
import type { ProjectId } from '../values/project.ts'
import { clockToleranceSeconds, daySeconds, type EpochSeconds, rfc3339 } from '../values/time.ts'
import { withOpened } from '../values/with-opened.ts'
import { checkLakes } from './check-lakes.ts'
import { checkNotify } from './check-notify.ts'
import { checkQueue } from './check-queue.ts'
import { checkFiles, checkWarehouse } from './check-warehouse.ts'
import { openBudgetsOnly } from './request-budgets.ts'
import { openService, type ServiceOptions } from './service.ts'

export async function checkProject(
  config: Config,
  project: ProjectConfig,
  options: Pick<ServiceOptions, 'signal' | 'log'> & {
    /** The first request is sent when the budget is open again. */
    readonly onWait?: (budget: BudgetView) => void
    /** Whether a test line is posted to the address of `notify`. */
    readonly postsLine?: boolean
  },
): Promise<readonly CheckItem[]> {
  const queue = await checkQueue(config.queueUrl)
  const stored = async () => [
    ...(await checkWarehouse(config, project)),
    ...checkFiles(config),
    ...(await checkLakes(config, project)),
  ]
  const notified = await checkNotify(project, options)
  // Without Redis no request is sent.
  if (queue.some(({ state }) => state === 'error'))
    return [...queue, ...(await stored()), ...notified]
  return withOpened(async (use) => {
    const budget = (await openBudgetsOnly(use, config, options.log)).forProject(project)
    const { client } = use(openService(project, budget, { ...options, isNewAddress: true }))
    const proxy = findProxy(project.proxy, project.baseUrl)
    // A record that cannot be read is an item of the check.
    const view = await budget.view().catch(() => null)
    if (view !== null && view.closedForMs !== null) options.onWait?.(view)
    const service = await checkService(client.get, project.projectId, proxy)
    return [...service, ...queue, ...(await stored()), ...notified]
  })
}

const newKeyAdvice =
  'create a key under Settings > API keys in the app (only the account owner can)'

/** What a sync needs of it: the connection, the key, each scope and the clock. */
async function checkService(
  get: ApiGet,
  project: ProjectId,
  proxy: HttpProxy | null,
): Promise<CheckItem[]> {
  const items: CheckItem[] = []
  for (const [scope, [path, query]] of scopeProbes(project, readClock())) {
    const result = await get(path, query, 'fresh').catch((error: unknown) => {
      if (error instanceof ApiError) return error
      throw error
    })
    if (result instanceof ApiError) {
      const item = failureItem(scope, result)
      items.push(item)
      // If the key is not accepted or the service is unreachable, the other requests fail in the
      // same way.
      if (item.name !== scope) return [...items, ...projectIdItems(project)]
    } else {
      if (items.length === 0) items.push(...connectionItems(result, proxy))
      items.push({ name: scope, state: 'ok', detail: `reads ${streamsOf(scope)}`, hint: null })
    }
  }
  return items
}

/** Only where the service does not accept it: what works needs no advice. */
function projectIdItems(project: ProjectId): CheckItem[] {
  const detail = projectIdProblem(project)
  if (detail === null) return []
  const hint = 'correct DESKMIRROR_PROJECT_ID (`project_id` in deskmirror.yaml)'
  return [{ name: 'project', state: 'warning', detail, hint }]
}

const readClock = (): EpochSeconds => Math.floor(Date.now() / 1000)

type Stream = (typeof allStreams)[number]
type Probe = readonly [path: string, query: QueryParams]

/** A small request for each scope: of its first stream that is read without the id of a row. */
function scopeProbes(project: ProjectId, now: EpochSeconds): Map<Stream['scope'], Probe> {
  const probes = new Map<Stream['scope'], Probe>()
  for (const stream of allStreams) {
    const probe = probeOf(stream, project, { from: rfc3339(now - daySeconds), to: rfc3339(now) })
    if (probe !== null && !probes.has(stream.scope)) probes.set(stream.scope, probe)
  }
  return probes
}

/** Only a day of a list that can be bounded on both sides. Null for streams that belong to rows. */
function probeOf(
  stream: Stream,
  project: ProjectId,
  range: { from: string; to: string },
): Probe | null {
  switch (stream.kind) {
    case 'list': {
      const { path, lowerParam: lower, upperParam: upper } = stream.list(project)
      const bounds =
        lower === null || upper === null ? {} : { [lower]: range.from, [upper]: range.to }
      return [path, { ...bounds, limit: 1 }]
    }
    case 'daily':
      return [stream.path(project), range]
    case 'snapshot':
      return [stream.path(project), {}]
    case 'child-list':
    case 'child-object':
      return null
  }
}

/** Called at once, as the request may have waited for the budget before it was sent. */
function connectionItems(
  { serverDate, requestId }: ApiResponse,
  proxy: HttpProxy | null,
): CheckItem[] {
  const now = readClock()
  const through = proxy === null ? '' : ` through the proxy ${proxy.name}`
  const id = requestId === null ? '' : ` (request ${requestId})`
  const answers = `the service answers${through}${id}`
  const reached: CheckItem = { name: 'connection', state: 'ok', detail: answers, hint: null }
  if (serverDate === null || Math.abs(serverDate - now) <= clockToleranceSeconds) return [reached]
  const detail = `this machine's clock says ${rfc3339(now)}, the service's ${rfc3339(serverDate)}`
  const hint = "set this machine's clock by NTP"
  return [reached, { name: 'clock', state: 'warning', detail, hint }]
}

function failureItem(scope: Stream['scope'], { failure }: ApiError): CheckItem {
  const detail = describeFailure(failure)
  const ofBudget = explainBudgetFailure(failure)
  if (ofBudget !== null)
    return { name: 'budget', state: 'error', detail, hint: ofBudget.next, retryable: true }
  if (failure.kind === 'refused' && failure.isOnlyThis === true) {
    const hint = `these stay empty: ${streamsOf(scope)}; ask the support of the service`
    return { name: scope, state: 'warning', detail, hint }
  }
  const proxy = proxyProblemOf(failure)
  if (proxy !== null) {
    const retryable = !proxy.needsPerson
    return { name: 'connection', state: 'error', detail, hint: proxy.next, retryable }
  }
  if (failure.kind !== 'denied') {
    const hint =
      failure.kind === 'refused' && failure.status === 404
        ? 'correct DESKMIRROR_BASE_URL: it has to end with the version ' +
          'of the API if that has one, like /v1'
        : 'check DESKMIRROR_BASE_URL, and whether this machine reaches that address'
    const retryable = failure.kind === 'transient' || failure.kind === 'throttled'
    return { name: 'connection', state: 'error', detail, hint, retryable }
  }
  if (isMissingScope(failure)) {
    const hint = `without ${scope} these stay empty: ${streamsOf(scope)}; ${newKeyAdvice} that has it`
    return { name: scope, state: 'warning', detail, hint }
  }
  const wrong = failure.code === 'api_key_wrong_project'
  const hint = wrong
    ? 'set DESKMIRROR_PROJECT_ID (`project_id` in deskmirror.yaml) to the project of the key'
    : `${newKeyAdvice} and set DESKMIRROR_API_KEY, or what deskmirror.yaml names`
  return { name: 'key', state: 'error', detail, hint }
}

function streamsOf(scope: Stream['scope']): string {
  const streams = allStreams.filter((stream) => stream.scope === scope)
  return streams.map((stream) => stream.name).join(', ')
}

/**
 * One item of `check`. With a warning a sync still works, without some streams if a scope is
 * missing. `hint` says how to fix it; `retryable`: the error may go away by itself.
 */
export type CheckItem = {
  readonly name: string
  readonly state: 'ok' | 'warning' | 'error'
  readonly detail: string
  readonly hint: string | null
  readonly retryable?: boolean
}
