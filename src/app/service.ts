/** The service for one project: a client with its key, on the shared request budget of the key. */
import { randomUUID } from 'node:crypto'
import { toColumnRules } from '../config/column-settings.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import type { Logger } from '../log.ts'
import { createMirrorGet } from '../mirror/core/mirror-get.ts'
import { createClient } from '../service/client.ts'
import {
  type ApiFailure,
  describeFailure,
  explainBudgetFailure,
  proxyProblemOf,
} from '../service/core/api-failure.ts'
import type { Priority } from '../service/core/api-request.ts'
import type { BudgetView } from '../service/core/budget.ts'
import type { Connections } from '../service/exchange.ts'
import type { RequestBudget } from '../service/rate-limit/request-budget.ts'
import { type RequestPurpose, recordRequests } from '../service/sql/request-counts.ts'
import type { Ms } from '../values/time.ts'
import { createTurns } from '../values/turns.ts'
import { UserError } from '../values/user-error.ts'
import type { Use } from '../values/with-opened.ts'
import type { WarehouseOptions } from '../warehouse/open-database.ts'
import { createWarehouseRetry, type WarehouseRetryOptions } from '../warehouse/retry.ts'
import { addressOptions, openWarehouse, type Warehouse } from './open.ts'
import { openRequestBudgets } from './request-budgets.ts'

export type Service = ReturnType<typeof openService>

export type ServiceOptions = {
  /** Those of a worker, which outlive its sync runs. */
  readonly connections?: Connections
  readonly signal: AbortSignal
  readonly log: Logger
  /** No answer of this address is stored; see the client. */
  readonly isNewAddress?: boolean
  readonly onOutcome?: (priority: Priority, outcome: 'ok' | ApiFailure['kind']) => void
}

/** How long a read may go on after the stop signal, so that its page is not read again. */
const readGraceMs = 5000

export function openService(
  project: ProjectConfig,
  budget: RequestBudget,
  options: ServiceOptions,
) {
  const { signal, log, onOutcome, connections, isNewAddress = false } = options
  const ownAbort = new AbortController()
  const stopSignal = AbortSignal.any([signal, ownAbort.signal])
  const hardAbort = new AbortController()
  const abortReads = () => setTimeout(() => hardAbort.abort(), readGraceMs).unref()
  stopSignal.addEventListener('abort', abortReads, { once: true })
  const client = createClient({
    baseUrl: project.baseUrl,
    key: project.apiKey.reveal(),
    proxy: project.proxy,
    budget,
    projectId: project.projectId,
    readOnly: project.readOnly,
    signal: stopSignal,
    inFlightSignal: hardAbort.signal,
    log,
    isNewAddress,
    defaultRetryAfterMs: project.rate.windowMs,
    ...(onOutcome === undefined ? {} : { onOutcome }),
    ...(connections === undefined ? {} : { connections }),
  })
  const close = async () => {
    // While a combined signal has a listener, Node frees neither the signal nor what the listener
    // refers to.
    stopSignal.removeEventListener('abort', abortReads)
    await client.close()
  }
  const columns = toColumnRules(project)
  return {
    client,
    budget,
    /** What of it may be stored. */
    columns,
    /** The only way in which what the service sends becomes rows of the mirror. */
    mirrorGet: createMirrorGet(client.get, columns),
    signal: stopSignal,
    stop: () => ownAbort.abort(),
    close,
  }
}

/** What long work of a command takes. `notify`: the warehouse is away, or back. */
export type CommandOptions = Pick<ServiceOptions, 'signal' | 'log'> &
  Pick<WarehouseRetryOptions, 'notify'>
type LongWorkOptions = Pick<ServiceOptions, 'signal' | 'log'> &
  WarehouseRetryOptions &
  Pick<WarehouseOptions, 'access'>

/** Opens what long work with the service needs. The warehouse may be away for a while. */
export async function openBudgets(use: Use, config: Config, options: LongWorkOptions) {
  const { access = 'write', log } = options
  const retry = createWarehouseRetry(options)
  const address = addressOptions(config)
  const warehouse = use(await openWarehouse(config.databaseUrl, { access, retry, ...address }))
  const budgets = use(await openRequestBudgets(config.queueUrl, warehouse, log))
  return { warehouse, budgets }
}

/** The same, connected to the service. */
export async function openProject(
  use: Use,
  config: Config,
  project: ProjectConfig,
  options: LongWorkOptions,
) {
  const { signal, log } = options
  const { warehouse, budgets } = await openBudgets(use, config, options)
  const service = use(openService(project, budgets.forProject(project), { signal, log }))
  return { warehouse, budgets, service }
}

/** Reports nothing while the budget cannot be read. */
export function reportBudget({ budget }: Service, onBudget: (budget: BudgetView) => void): void {
  budget.view().then(onBudget, () => {})
}

const budgetEveryMs: Ms = 500

/** Reports it now, and twice a second until it is closed. */
export function startBudgetReports(service: Service, onBudget: (budget: BudgetView) => void) {
  reportBudget(service, onBudget)
  const timer = setInterval(() => reportBudget(service, onBudget), budgetEveryMs)
  return { close: () => clearInterval(timer) }
}

/**
 * Of a run that ended. `hasServiceResponded`: the service answered before: its address is right.
 */
export function fatalRunError(
  project: ProjectConfig,
  failure: ApiFailure,
  hasServiceResponded = false,
): UserError {
  const why = describeFailure(failure)
  const ofBudget = explainBudgetFailure(failure)
  if (ofBudget !== null) return new UserError(ofBudget)
  const error = (what: string, next: string, exitCode: 1 | 2) =>
    new UserError({ what, why, next, exitCode })
  const location = `at ${project.baseUrl.href} (project ${project.name})`
  const resumeHint = 'the next run continues where this one stopped'
  if (failure.kind === 'denied') {
    const next =
      failure.code === 'api_key_wrong_project'
        ? 'set DESKMIRROR_PROJECT_ID (`project_id` in deskmirror.yaml) to the project of the ' +
          'key, or use a key of this project'
        : 'create a key under Settings > API keys (only the account owner can) and set ' +
          'DESKMIRROR_API_KEY, or what deskmirror.yaml names'
    return error(`the service denies the key of the project ${project.name}`, next, 2)
  }
  if (failure.kind === 'refused') {
    const next =
      'check DESKMIRROR_BASE_URL (with its version segment, if it has ' +
      'one) and DESKMIRROR_PROJECT_ID'
    return error(`this API is not served ${location}`, next, 2)
  }
  const proxy = proxyProblemOf(failure)
  if (proxy !== null)
    return error(
      `the service cannot be reached ${location}`,
      `${proxy.next}; ${resumeHint}`,
      proxy.needsPerson ? 2 : 1,
    )
  if (hasServiceResponded || (failure.kind === 'transient' && failure.status !== null))
    return error(`the service fails ${location}`, `try again later: ${resumeHint}`, 1)
  return error(
    `the service does not answer ${location}`,
    `check DESKMIRROR_BASE_URL and the network; ${resumeHint}`,
    1,
  )
}

const recordEveryMs: Ms = 2000

/** A count that cannot be written is skipped: no work depends on it. */
export function startRequestCounting(
  warehouse: Pick<Warehouse, 'db'>,
  { projectId }: Pick<ProjectConfig, 'projectId'>,
  purpose: RequestPurpose,
  { client }: Service,
) {
  const source = { project: projectId, id: randomUUID(), purpose, since: Date.now() }
  let recorded = 0
  const inTurn = createTurns()
  const write = async () => {
    const requests = client.requestCount()
    if (requests === recorded) return
    recorded = requests
    await recordRequests(warehouse.db, source, requests, Date.now()).catch(() => {})
  }
  const writeNext = () => inTurn(write)
  const timer = setInterval(() => void writeNext(), recordEveryMs)
  const close = () => {
    clearInterval(timer)
    return writeNext()
  }
  return { close }
}
