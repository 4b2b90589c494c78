/** The HTTP server of a worker: its health, metrics, webhooks, console and queues. */
import type { Warehouse } from '../src/app/open.ts'
import { type Config, resolveHttpExposure } from '../src/config/config.ts'
import { loadRoutes } from '../src/console/console.ts'
import { configuredProjects } from '../src/console/project.ts'
import { openConsoleReads } from '../src/console/reads.ts'
import { createConsoleLink } from '../src/console/sign-in-links.ts'
import { createAttempts } from '../src/http/auth.ts'
import type { Attempts, HttpRoutes, ReadinessResult, RoutesPlugin } from '../src/http/http.ts'
import { withTimeout } from '../src/http/remember-results.ts'
import { openHttpServer } from '../src/http/server.ts'
import { webhookRoutes } from '../src/http/webhooks.ts'
import type { Logger } from '../src/log.ts'
import { listHeld } from '../src/outbox/sql/sending.ts'
import type { Ms } from '../src/values/time.ts'
import { errorText } from '../src/values/user-error.ts'
import { createAuditLog } from '../src/warehouse/audit-log.ts'
import type { JobFailures, WorkerContext } from '../src/worker/worker.ts'
import type { Backend } from './backends/backend.ts'
import type { JobQueues } from './queues.ts'

/** `config` is asked each time: it can be reloaded. Throws UserError. */
export async function openWorkerHttp(
  config: () => Config,
  {
    context,
    backend,
    wake,
    isAlive,
    checkReadiness,
    onClose,
  }: Pick<JobQueues, 'wake'> & {
    readonly context: WorkerContext
    readonly backend: Backend
    readonly isAlive: () => boolean
    readonly checkReadiness: () => Promise<readonly ReadinessResult[]>
    readonly onClose: (close: () => Promise<void>) => void
  },
) {
  const { warehouse, metrics, log } = context
  const attempts = createAttempts()
  const projects = () => config().projects
  const webConsole = openWorkerConsole(config, warehouse, attempts, log)
  onClose(webConsole.close)
  const address = resolveHttpExposure(config())
  if (address === null) return { address: null, consoleLink: null }
  const listHeldNames = async () => {
    const held = await listHeld(warehouse.db)
    return projects().flatMap(({ name, projectId }) => (held.has(projectId) ? [name] : []))
  }
  const webhooks = webhookRoutes({ projects, wake, onDelivery: metrics.countDelivery, log })
  const plugins = [queueBoard(backend), webhooks, webConsole.routes]
  const health = { isAlive, checkReadiness, listHeld: listHeldNames }
  const { trustedProxies } = config()
  const server = await openHttpServer({
    ...address,
    attempts,
    trustedProxies,
    health,
    metrics,
    plugins,
    log,
  })
  onClose(server.close)
  return { address: server.address, consoleLink: await webConsole.createLink(server.address) }
}

function queueBoard({ kind, loadBoard }: Backend): HttpRoutes {
  const routes = { prefix: '/queues', auth: 'token' } as const
  if (loadBoard !== null) return { ...routes, load: loadBoard }
  const error =
    `the ${kind} queue has no page: \`deskmirror status\` and the console show what is ` +
    'pending and what fails'
  const plugin: RoutesPlugin = async (app) => {
    for (const url of ['', '/*']) app.get(url, (_, reply) => reply.code(404).send({ error }))
  }
  return { ...routes, plugin }
}

/** Shorter than the clients' timeouts; each part has its own, so that the hanging one is named. */
const pingTimeoutMs: Ms = 3000

export async function checkReadiness(
  warehouse: Pick<Warehouse, 'query'>,
  queue: Pick<Backend, 'ping'>,
  failures: JobFailures,
  stopping: AbortSignal,
): Promise<readonly ReadinessResult[]> {
  const checkPart = (
    name: string,
    ping: () => Promise<unknown>,
    problem: () => string | null,
  ): Promise<ReadinessResult> =>
    withTimeout(pingTimeoutMs, ping()).then(
      () => ({ name, ok: problem() === null, why: problem() }),
      (error: unknown) => ({ name, ok: false, why: errorText(error) }),
    )
  const worker: ReadinessResult = { name: 'worker', ok: !stopping.aborted, why: 'it is stopping' }
  const parts = [
    checkPart('warehouse', () => warehouse.query('select 1'), failures.warehouseProblem),
    checkPart('queue', queue.ping, () => null),
  ]
  return [...(await Promise.all(parts)), worker]
}

/** `config` is asked each time. Throws UserError if a token of a person cannot be read. */
export function openWorkerConsole(
  config: () => Config,
  { db }: Warehouse,
  attempts: Attempts,
  log: Logger,
) {
  const { httpToken } = config()
  const auditLog = createAuditLog(db)
  requirePeopleTokens(config())
  const reads = openConsoleReads(config(), Date.now)
  const people = () => config().console.people
  const load = async () => {
    const { consolePlugin } = await loadRoutes()
    return consolePlugin({
      reads,
      attempts,
      log,
      now: Date.now,
      access: { people, httpToken },
      isReadOnly: false,
      // A request does not wait behind the work of the worker.
      store: {
        ...auditLog,
        hasSessionEnded: async (cookie) =>
          createAuditLog((await reads.warehouse()).db).hasSessionEnded(cookie),
      },
      config: () => (config().readOnly ? null : config()),
      projects: async () => configuredProjects(config()),
    })
  }
  const routes: HttpRoutes = { prefix: '/console', auth: 'own', load }
  /** A one-time link at this address; null: people sign in with tokens. */
  const createLink = async (address: string) =>
    httpToken === null && people().length === 0
      ? createConsoleLink(auditLog, address, Date.now())
      : null
  return { routes, createLink, close: reads.close }
}

/** One that cannot be read would keep others from signing in. Throws UserError. */
export function requirePeopleTokens({ console: { people } }: Pick<Config, 'console'>): void {
  for (const { token } of people) token.reveal()
}
