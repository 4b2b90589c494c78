/** The one place that joins the rooms: configuration in, the stories told with real parts, reports out. */
import type { WidgetSession, WidgetToken } from './api/widget-token.ts'
import { checkService } from './check.ts'
import { hold } from './compose/hold.ts'
import { withBudgets, withBudgetsAlone, withWarehouse } from './compose/opened.ts'
import { runUnder } from './compose/run.ts'
import { connect, stoppedError } from './compose/service.ts'
import { askForToken } from './compose/token.ts'
import { lanesAtOnce, namelessNotices, pushNotices, refuseReadOnly, writebackDeps } from './compose/writebacks.ts'
import type { Config, ProjectConfig } from './config.ts'
import type { RunMode } from './core/mirror.ts'
import type {
  BudgetView,
  CheckItem,
  PushProgress,
  PushReport,
  StatusReport,
  SyncProgress,
  SyncReport,
  VerifyReport,
} from './core/report.ts'
import type { StreamName } from './core/row.ts'
import { typedIn } from './core/typed.ts'
import { UserError } from './core/user-error.ts'
import type { Logger } from './log.ts'
import { verify } from './verify/verify.ts'
import type { Migrated } from './warehouse/migrate.ts'
import { openWarehouse } from './warehouse/open.ts'
import { UnusedWarehouse } from './warehouse/unused.ts'
import { push } from './writeback/push.ts'

export type SyncOptions = {
  readonly mode: RunMode
  readonly streams: readonly StreamName[]
  /** Wait for another run of the project to end, instead of refusing. */
  readonly wait: boolean
  /** Stops after the page in hand. */
  readonly signal: AbortSignal
  readonly onProgress: (progress: SyncProgress) => void
  readonly onBudget: (budget: BudgetView) => void
  readonly log: Logger
}

/** One pass over one project. Throws UserError: locked, denied, a warehouse that cannot be used. */
export async function syncProject(config: Config, project: ProjectConfig, options: SyncOptions): Promise<SyncReport> {
  const { mode, log, signal } = options
  const startedAt = Date.now()
  return withWarehouse(config, async (warehouse) => {
    const lock = await hold(warehouse, project, options)
    const { synced, requests } = await withBudgets(config, warehouse, log, (budgets) =>
      runUnder(lock, warehouse, budgets, project, {
        mode,
        streams: options.streams,
        signal,
        onProgress: (progress, { budget }) => {
          options.onProgress(progress)
          budget.view().then(options.onBudget, () => {})
        },
        log,
      }),
    )
    if (synced.stopped !== null) throw stoppedError(project, synced.stopped)
    const { gaps } = await warehouse.status(project.projectId, Date.now(), project.rate)
    const total = (of: (report: (typeof synced.reports)[number]) => number) =>
      synced.reports.reduce((sum, report) => sum + of(report), 0)
    return {
      project: project.name,
      mode,
      outcome: synced.outcome,
      tookMs: Date.now() - startedAt,
      requests,
      rows: total((report) => report.rows),
      changed: total((report) => report.changed),
      streams: synced.reports,
      gaps,
      notices: synced.notices,
    }
  })
}

/** Questions whose answers tell whether a sync can work. Changes nothing, here or there. */
export async function checkProject(
  config: Config,
  project: ProjectConfig,
  { signal, log }: Pick<SyncOptions, 'signal' | 'log'>,
): Promise<readonly CheckItem[]> {
  return withBudgetsAlone(config, log, async (budgets) => {
    const { client } = connect(project, budgets.of(project), { signal, log })
    try {
      const service = await checkService(client.get, project.projectId, Math.floor(Date.now() / 1000))
      return [...service, await checkWarehouse(config, project)]
    } finally {
      await client.close()
    }
  })
}

/** Mints a token for the widget in a browser, out of the project's budget. Throws UserError. */
export async function mintWidgetToken(
  config: Config,
  project: ProjectConfig,
  session: WidgetSession,
  { signal, log }: Pick<SyncOptions, 'signal' | 'log'>,
): Promise<WidgetToken> {
  return withBudgetsAlone(config, log, (budgets) => askForToken(project, budgets.of(project), session, { signal, log }))
}

async function checkWarehouse(config: Config, project: ProjectConfig): Promise<CheckItem> {
  try {
    const report = await statusOf(config, project)
    const rows = report.streams.reduce((sum, stream) => sum + stream.rows, 0)
    const detail = `${rows} rows mirrored, ${report.behaviours.length} facts learned about the service`
    return { name: 'warehouse', state: 'ok', detail, hint: null }
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    if (error instanceof UnusedWarehouse) {
      return { name: 'warehouse', state: 'ok', detail: 'empty; the first `deskmirror sync` fills it', hint: null }
    }
    return { name: 'warehouse', state: 'error', detail: `${error.what}: ${error.why}`, hint: error.next }
  }
}

export type PushOptions = Pick<SyncOptions, 'signal' | 'onBudget' | 'log'> & {
  readonly onProgress: (progress: PushProgress) => void
  /** Goes on although the last write-backs went wrong. */
  readonly despiteFailures: boolean
}

/** Sends the project's queued write-backs until none can be sent. Throws UserError: denied, nobody answers, read-only. */
export async function pushProject(config: Config, project: ProjectConfig, options: PushOptions): Promise<PushReport> {
  const { log, signal, despiteFailures } = options
  refuseReadOnly(project)
  const startedAt = Date.now()
  return withWarehouse(config, async (warehouse) => {
    const desk = warehouse.queueDesk(project.projectId)
    if (config.projects.length === 1) await desk.adopt()
    return withBudgets(config, warehouse, log, async (budgets) => {
      const service = connect(project, budgets.of(project), { signal, log })
      try {
        const before = await desk.summary({ statuses: ['queued', 'sending'] })
        const all = (before.queued ?? 0) + (before.sending ?? 0)
        const pushed = await push(writebackDeps(warehouse, project, service, log), {
          lanesAtOnce,
          despiteFailures,
          onProgress: ({ settled, working }) => {
            options.onProgress({ settled, working, left: Math.max(0, all - settled) })
            service.budget.view().then(options.onBudget, () => {})
          },
        })
        if (pushed.stopped !== null) throw stoppedError(project, pushed.stopped)
        const heldLanes = (await desk.heldLanes()).length
        const notices = [
          ...pushNotices(pushed, typedIn(config.projects, project.name)),
          ...namelessNotices(await warehouse.fleet.countNameless()),
        ]
        return {
          project: project.name,
          settled: pushed.settled,
          queue: await desk.summary({}),
          tookMs: Date.now() - startedAt,
          requests: service.client.requests(),
          outcome: signal.aborted ? 'interrupted' : notices.length > 0 ? 'held' : 'done',
          notices,
          heldLanes,
        }
      } finally {
        await service.client.close()
      }
    })
  })
}

/** Compares the mirror with the service. Changes nothing. */
export async function verifyProject(
  config: Config,
  project: ProjectConfig,
  options: Pick<SyncOptions, 'streams' | 'signal' | 'onProgress' | 'log'> & { readonly limit: number },
): Promise<VerifyReport> {
  const warehouse = await openWarehouse(config.databaseUrl, { use: 'read' })
  try {
    return await withBudgets(config, warehouse, options.log, async (budgets) => {
      const { client } = connect(project, budgets.of(project), options)
      const { streams, limit, signal, onProgress } = options
      try {
        const found = await verify({
          project: project.projectId,
          streams: new Set(streams),
          startDate: project.startDate,
          get: client.get,
          mirror: warehouse.mirror(project.projectId),
          limit,
          signal,
          onProgress,
        })
        return { project: project.name, ...found, requests: client.requests() }
      } finally {
        await client.close()
      }
    })
  } finally {
    await warehouse.close()
  }
}

/** How the mirror stands. Reads only the warehouse. */
export async function statusOf(config: Config, project: ProjectConfig): Promise<StatusReport> {
  const warehouse = await openWarehouse(config.databaseUrl, { use: 'read' })
  try {
    const report = await warehouse.status(project.projectId, Date.now(), project.rate, project.streams)
    return { ...report, project: project.name }
  } finally {
    await warehouse.close()
  }
}

/** Brings the warehouse to this version's schema. */
export function migrateWarehouse(config: Config): Promise<Migrated> {
  return withWarehouse(config, async ({ migrated }) => migrated ?? { from: null, to: '', applied: [] })
}
