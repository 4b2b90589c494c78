/** The service as one project may use it: a client with the key, on the budget that the key's users share. */
import type { Budget } from '../api/budget.ts'
import { type Client, createClient } from '../api/client.ts'
import type { Connections } from '../api/connections.ts'
import type { ProjectConfig } from '../config.ts'
import { budgetAway, describe, type Failure, isBudgetAway } from '../core/failure.ts'
import type { Lane } from '../core/lane.ts'
import type { BudgetView } from '../core/report.ts'
import { UserError } from '../core/user-error.ts'
import type { Logger } from '../log.ts'

export type Service = {
  readonly client: Client
  readonly budget: Budget
  readonly signal: AbortSignal
  readonly stop: () => void
}

export type ServiceOptions = {
  /** Of a worker, which outlive its passes. */
  readonly connections?: Connections
  readonly signal: AbortSignal
  readonly log: Logger
  readonly onOutcome?: (lane: Lane, outcome: 'ok' | Failure['kind']) => void
}

/** How long a read may go on after somebody asked to stop: its page is then stored and not read again. */
const graceMs = 5000

export function connect(project: ProjectConfig, budget: Budget, options: ServiceOptions): Service {
  const { signal, log, onOutcome, connections } = options
  const own = new AbortController()
  const soft = AbortSignal.any([signal, own.signal])
  const hard = new AbortController()
  soft.addEventListener('abort', () => setTimeout(() => hard.abort(), graceMs).unref(), { once: true })
  const client = createClient({
    baseUrl: project.baseUrl,
    key: project.apiKey.reveal(),
    budget,
    readOnly: project.readOnly,
    signal: soft,
    cutOff: hard.signal,
    log,
    windowMs: project.rate.windowMs,
    ...(onOutcome === undefined ? {} : { onOutcome }),
    ...(connections === undefined ? {} : { connections }),
  })
  return { client, budget, signal: soft, stop: () => own.abort() }
}

/** The same, closed whatever becomes of the work. */
export async function withService<T>(
  project: ProjectConfig,
  budget: Budget,
  options: ServiceOptions,
  work: (service: Service) => Promise<T>,
): Promise<T> {
  const service = connect(project, budget, options)
  try {
    return await work(service)
  } finally {
    await service.client.close()
  }
}

/** A budget that cannot be read just now is not told of. */
export function tellBudget({ budget }: Service, tell: (budget: BudgetView) => void): void {
  budget.view().then(tell, () => {})
}

/** What stopped a whole run, for a person. `heard`: the service has answered before, so its address is not what is wrong. */
export function stoppedError(project: ProjectConfig, failure: Failure, heard = false): UserError {
  const why = describe(failure)
  if (isBudgetAway(failure)) return new UserError({ ...budgetAway, why, exitCode: 1 })
  const at = `at ${project.baseUrl.href} (project ${project.name})`
  if (failure.kind === 'denied') {
    const next =
      failure.code === 'api_key_wrong_project'
        ? 'set DESKMIRROR_PROJECT_ID (`project_id` in deskmirror.yaml) to the project of the key, or use a key of this project'
        : 'create a key under Settings > API keys (only the account owner can) and set DESKMIRROR_API_KEY, or what deskmirror.yaml names'
    return new UserError({ what: `the service denies the key of the project ${project.name}`, why, next, exitCode: 2 })
  }
  if (failure.kind === 'refused') {
    const next = 'check DESKMIRROR_BASE_URL (with its version segment, if it has one) and DESKMIRROR_PROJECT_ID'
    return new UserError({ what: `nobody serves this API ${at}`, why, next, exitCode: 2 })
  }
  const goesOn = 'the next run goes on where this one stopped'
  if (heard || (failure.kind === 'transient' && failure.status !== null)) {
    return new UserError({ what: `the service fails ${at}`, why, next: `try again later: ${goesOn}`, exitCode: 1 })
  }
  const next = `check DESKMIRROR_BASE_URL and the network; ${goesOn}`
  return new UserError({ what: `the service does not answer ${at}`, why, next, exitCode: 1 })
}
