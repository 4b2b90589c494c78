/** The service as one project may use it: a client with the key, on the budget that the key's users share. */
import type { RequestBudget } from '../api/rate-limit/request-budget.ts'
import { type Client, createClient } from '../api/client.ts'
import type { Connections } from '../api/connections.ts'
import type { ProjectConfig } from '../config/load.ts'
import { budgetUnavailable, describeFailure, type ApiFailure, isBudgetUnavailable } from '../core/api-failure.ts'
import type { Priority } from '../core/rate-limit/priority.ts'
import type { BudgetView } from '../core/report.ts'
import { UserError } from '../core/user-error.ts'
import type { Logger } from '../log.ts'

export type Service = {
  readonly client: Client
  readonly budget: RequestBudget
  readonly signal: AbortSignal
  readonly stop: () => void
}

export type ServiceOptions = {
  /** Of a worker, which outlive its passes. */
  readonly connections?: Connections
  readonly signal: AbortSignal
  readonly log: Logger
  readonly onOutcome?: (lane: Priority, outcome: 'ok' | ApiFailure['kind']) => void
}

/** How long a read may go on after somebody asked to stop: its page is then stored and not read again. */
const readGraceMs = 5000

export function connectService(project: ProjectConfig, budget: RequestBudget, options: ServiceOptions): Service {
  const { signal, log, onOutcome, connections } = options
  const ownAbort = new AbortController()
  const stopSignal = AbortSignal.any([signal, ownAbort.signal])
  const hardAbort = new AbortController()
  stopSignal.addEventListener('abort', () => setTimeout(() => hardAbort.abort(), readGraceMs).unref(), { once: true })
  const client = createClient({
    baseUrl: project.baseUrl,
    key: project.apiKey.reveal(),
    budget,
    readOnly: project.readOnly,
    signal: stopSignal,
    hardSignal: hardAbort.signal,
    log,
    windowMs: project.rate.windowMs,
    ...(onOutcome === undefined ? {} : { onOutcome }),
    ...(connections === undefined ? {} : { connections }),
  })
  return { client, budget, signal: stopSignal, stop: () => ownAbort.abort() }
}

/** The same, closed whatever becomes of the work. */
export async function withService<T>(
  project: ProjectConfig,
  budget: RequestBudget,
  options: ServiceOptions,
  work: (service: Service) => Promise<T>,
): Promise<T> {
  const service = connectService(project, budget, options)
  try {
    return await work(service)
  } finally {
    await service.client.close()
  }
}

/** A budget that cannot be read just now is not told of. */
export function reportBudget({ budget }: Service, onBudget: (budget: BudgetView) => void): void {
  budget.view().then(onBudget, () => {})
}

/** What stopped a whole run, for a person. `heard`: the service has answered before, so its address is not what is wrong. */
export function stoppedRunError(project: ProjectConfig, failure: ApiFailure, hasServiceAnswered = false): UserError {
  const why = describeFailure(failure)
  if (isBudgetUnavailable(failure)) return new UserError({ ...budgetUnavailable, why, exitCode: 1 })
  const location = `at ${project.baseUrl.href} (project ${project.name})`
  if (failure.kind === 'denied') {
    const next =
      failure.code === 'api_key_wrong_project'
        ? 'set DESKMIRROR_PROJECT_ID (`project_id` in deskmirror.yaml) to the project of the key, or use a key of this project'
        : 'create a key under Settings > API keys (only the account owner can) and set DESKMIRROR_API_KEY, or what deskmirror.yaml names'
    return new UserError({ what: `the service denies the key of the project ${project.name}`, why, next, exitCode: 2 })
  }
  if (failure.kind === 'refused') {
    const next = 'check DESKMIRROR_BASE_URL (with its version segment, if it has one) and DESKMIRROR_PROJECT_ID'
    return new UserError({ what: `nobody serves this API ${location}`, why, next, exitCode: 2 })
  }
  const resumeHint = 'the next run goes on where this one stopped'
  if (hasServiceAnswered || (failure.kind === 'transient' && failure.status !== null)) {
    return new UserError({ what: `the service fails ${location}`, why, next: `try again later: ${resumeHint}`, exitCode: 1 })
  }
  const next = `check DESKMIRROR_BASE_URL and the network; ${resumeHint}`
  return new UserError({ what: `the service does not answer ${location}`, why, next, exitCode: 1 })
}
