/**
 * Notifies people: one worker of all posts what is news, and then records it. If it is killed in
 * between, the next one posts it again, so nothing is lost. Texts and decisions:
 * `src/maintenance/core/notifications.ts`.
 */
import { readReport } from '../analytics/report/report.ts'
import { weekLines } from '../analytics/report/week-lines.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import type { Metrics } from '../http/http.ts'
import {
  describeNews,
  diskCondition,
  keyOf,
  planNotifications,
  weekCondition,
} from '../maintenance/core/notifications.ts'
import type { Announced, JobIdentity } from '../maintenance/maintenance.ts'
import { listAnnounced, readConditions, storeAnnounced } from '../maintenance/sql/notifications.ts'
import { NotPostedError, postText } from '../service/post-text.ts'
import { path } from '../values/address.ts'
import { dateText } from '../values/days.ts'
import type { ProjectId } from '../values/project.ts'
import type { Secret } from '../values/secret.ts'
import type { EpochMs, Ms } from '../values/time.ts'
import { findMove, readMoves } from '../warehouse/moves.ts'
import type { JobFailures } from './job-failures.ts'
import { readWarehouseStorage } from './project-health.ts'
import type { WorkerResources } from './resources.ts'

type Listening = ProjectConfig & { readonly notify: Secret }

/** How long an address that fails is not tried again, unless it asked for longer. */
const restMs: Ms = 5 * 60_000

/** `tryAcquire`: false: another worker notifies. */
export function createNotifier(
  config: Pick<Config, 'databaseUrl' | 'consoleUrl'>,
  {
    warehouse,
    metrics,
    log,
    connections,
  }: Pick<WorkerResources, 'warehouse' | 'log' | 'connections'> & {
    readonly metrics: Pick<Metrics, 'countNotification'>
  },
  tryAcquire: () => Promise<boolean>,
  now: () => EpochMs = Date.now,
) {
  // What was posted and could not be recorded, as on a full disk, is not posted again.
  const unrecorded = new Map<ProjectId, readonly Announced[]>()
  const restsUntil = new Map<string, EpochMs>()

  const notifyOf = async (
    project: Listening,
    freeBytes: number | null,
    address: string | null,
    signal: AbortSignal,
  ) => {
    const { name, projectId, timeZone } = project
    const context = warehouse.projectDb(projectId)
    const at = now()
    const conditions = await readConditions(context, at)
    const week = weekCondition(at, timeZone)
    const posted = unrecorded.get(projectId) ?? []
    const isPosted = new Set(posted.map(keyOf))
    const recorded = (await listAnnounced(context)).filter((row) => !isPosted.has(keyOf(row)))
    const all = [...conditions, ...diskCondition(freeBytes), week]
    const { news, changed, ended } = planNotifications([...recorded, ...posted], all, at)
    const linkTo = (page: string) =>
      address === null ? '' : `${address}${path`/console/p/${name}`}${page}`
    const readWeek = async () => {
      const [from, to] = [dateText(week.monday), dateText(week.monday + 6)]
      const report = await readReport(context, name, { from, to }, at)
      return report && weekLines(report, linkTo('/report'))
    }
    const weekText = news.includes(week) ? await readWeek() : null
    // Its numbers are announced when all of it has been read.
    const due = news.filter((condition) => condition !== week || weekText !== null)
    const lines = [...describeNews(due, name, linkTo), ...(weekText ?? [])]
    if (lines.length > 0) {
      await postText(connections, project, lines.join('\n').trim(), signal)
      metrics.countNotification({ project: name, outcome: 'sent' })
      const events = [...new Set(due.map(({ event }) => event))].join(' ')
      log.info({ event: 'notification.sent', project: name, events })
    }
    const announced = due.map(({ event, subject, level }) => {
      return { event, subject, level, announcedAt: at }
    })
    const toRecord = [...posted, ...changed, ...announced]
    if (toRecord.length + ended.length === 0) return
    const isNew = new Set(announced.map(keyOf))
    unrecorded.set(projectId, [...posted.filter((row) => !isNew.has(keyOf(row))), ...announced])
    await storeAnnounced(context, toRecord, ended)
    unrecorded.delete(projectId)
  }

  /** `address`: of the worker's HTTP server, or null. Rejects if the warehouse is away. */
  return async (
    projects: readonly ProjectConfig[],
    failures: Pick<JobFailures, 'recordFailure' | 'recordSuccess'>,
    address: string | null,
    signal: AbortSignal,
  ): Promise<void> => {
    const named = projects.filter((project): project is Listening => project.notify !== null)
    if (named.length === 0 || !(await tryAcquire())) return
    // Of a project that has moved away, nothing is announced here.
    const moves = await readMoves(warehouse.db)
    const listening = named.filter(({ projectId }) => findMove(moves, projectId) === undefined)
    const byChannel = Map.groupBy(listening, ({ notify }) => notify.reveal())
    // Only of the file of SQLite; its size costs a query in Postgres.
    const { freeBytes } =
      warehouse.kind === 'sqlite'
        ? await readWarehouseStorage(config, warehouse)
        : { freeBytes: null }
    await Promise.all(
      listening.map(async (project) => {
        const identity: JobIdentity = { job: 'notify', project, key: '', stream: null }
        const channel = project.notify.reveal()
        if ((restsUntil.get(channel) ?? 0) > now()) return
        // It concerns all projects: a channel gets it once.
        const disk = byChannel.get(channel)?.[0] === project ? freeBytes : null
        try {
          await notifyOf(project, disk, config.consoleUrl ?? address, signal)
          await failures.recordSuccess(identity)
        } catch (error) {
          if (signal.aborted) return
          if (error instanceof NotPostedError) {
            metrics.countNotification({ project: project.name, outcome: 'failed' })
            restsUntil.set(channel, now() + Math.max(restMs, error.retryMs ?? 0))
          }
          await failures.recordFailure(identity, error)
        }
      }),
    )
  }
}
