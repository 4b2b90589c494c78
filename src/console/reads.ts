/**
 * What the pages read with, apart from all other work; the warehouse is opened when the first page
 * is asked for.
 */
import type {
  DateRange,
  FactFilter,
  PeriodFilter,
  PeriodTableName,
} from '../analytics/analytics.ts'
import { readReport } from '../analytics/report/report.ts'
import { readAgentNames, readPeriodTable } from '../analytics/sql/read-period-table.ts'
import { readSendingFacts } from '../app/batches.ts'
import { addressOptions, type DatabaseAddress, openWarehouse, type Warehouse } from '../app/open.ts'
import { rememberResults } from '../http/remember-results.ts'
import { readProjectState } from '../maintenance/sql/status-report.ts'
import { createOutbox } from '../outbox/sql/outbox.ts'
import type { EpochMs, Ms } from '../values/time.ts'
import { readClock } from '../warehouse/dialect.ts'
import type { ProjectDb } from '../warehouse/project-db.ts'
import { scheduleOf } from './core/stream-state.ts'
import { type ConsoleProject, limitOf } from './project.ts'
import { createReviews } from './reviews.ts'
import { readCountedConversations } from './sql/counted-conversations.ts'
import { readAgentsById } from './sql/open-conversations.ts'
import { readOverview } from './sql/overview.ts'
import { readStreams } from './sql/streams.ts'
import { readVisitorCalls } from './sql/visitor.ts'
import { readWaits, type WaitFilter } from './sql/waits.ts'

export type ConsoleReads = ReturnType<typeof openConsoleReads>
export type OverviewData = Awaited<ReturnType<ConsoleReads['overview']>>
export type StreamRow = OverviewData['streams'][number]

/** Counting takes too long for a page, so that it shows what was counted within the last minute. */
const countsHoldMs: Ms = 60_000
/** What is counted of a small mirror is there by then. */
const countsWaitMs: Ms = 100
/** The views for analysts take seconds for a million messages. */
const daysHoldMs: Ms = 10 * 60_000
/** Several open pages ask for the same. */
const overviewHoldsMs: Ms = 1000

export function openConsoleReads(address: DatabaseAddress, now: () => EpochMs) {
  // A second reader, so that no page waits behind a count of all rows.
  const brief = openOnDemand(address, 'brief')
  const long = openOnDemand(address, 'long')
  const longDb = async ({ projectId }: ConsoleProject) =>
    (await long.warehouse()).projectDb(projectId)
  /** Of a project, by what is asked for. `soon`: null = it is still being read. */
  const remember = <Asked extends readonly unknown[], T>(
    read: (db: ProjectDb, project: ConsoleProject, ...asked: Asked) => Promise<T>,
    maxAgeMs: Ms | ((value: T) => Ms) = countsHoldMs,
  ) => {
    type Input = readonly [ConsoleProject, ...Asked]
    const readInput = async ([project, ...asked]: Input) =>
      read(await longDb(project), project, ...asked)
    const results = rememberResults({ maxAgeMs, now, read: readInput })
    const keyOf = ([{ projectId }, ...asked]: Input) => JSON.stringify([projectId, ...asked])
    return {
      get: (...input: Input) => results.get(keyOf(input), input),
      soon: (...input: Input) => results.soon(keyOf(input), input, countsWaitMs),
    }
  }
  const weeks = remember(
    async (db, { name }) => ({ report: await readReport(db, name, 'last 7 days', now()) }),
    // Its numbers follow the first sync, which may end at any moment.
    ({ report }) => (report?.period.whole == null ? countsHoldMs : daysHoldMs),
  )
  const tables = remember((db, _, name: PeriodTableName, period: PeriodFilter) =>
    readPeriodTable(db, name, period),
  )
  const tableOf = (
    project: ConsoleProject,
    name: PeriodTableName,
    { from, to, agent }: PeriodFilter,
  ) => [project, name, { from, to, agent }] as const
  const agentNames = remember(
    (db, _, range: DateRange, table: 'calls' | 'agents') => readAgentNames(db, range, table),
    daysHoldMs,
  )
  /** `schedule`: like `every 5 min`; null = not known. */
  const overviews = rememberResults({
    maxAgeMs: overviewHoldsMs,
    now,
    read: async (project: ConsoleProject) => {
      const warehouse = await brief.warehouse()
      const db = warehouse.projectDb(project.projectId)
      const { lastSyncOf, ...state } = await readProjectState(db, now())
      const streams = (await readStreams(db, project.streams, now())).map((row) => ({
        ...row,
        ...lastSyncOf(row.stream),
        ...scheduleOf(row.stream, project.schedules, state.workers.length > 0),
      }))
      const { budget, ...overview } = await readOverview(db, now())
      const sending = await readSendingFacts(createOutbox(db), warehouse)
      return {
        ...state,
        ...overview,
        sending,
        streams,
        budget: { limit: limitOf(project), ...budget },
      }
    },
  })
  return {
    warehouse: brief.warehouse,
    /** For what takes longer than a page may: lists that download, whole. */
    longDb,
    overview: (project: ConsoleProject) => overviews.get(project.projectId, project),
    week: weeks.soon,
    periodTable: (...of: Parameters<typeof tableOf>) => tables.get(...tableOf(...of)),
    periodTableSoon: (...of: Parameters<typeof tableOf>) => tables.soon(...tableOf(...of)),
    agentNames: (project: ConsoleProject, name: PeriodTableName, { from, to }: DateRange) =>
      agentNames.soon(project, { from, to }, name === 'calls' ? name : 'agents'),
    agentsById: remember(readAgentsById, daysHoldMs).soon,
    countedConversations: remember((db, _, filter: FactFilter, after: string | null) =>
      readCountedConversations(db, filter, after),
    ).soon,
    waits: remember((db, _, filter: WaitFilter, after: string | null) =>
      readWaits(db, filter, after, now()),
    ).soon,
    callsOf: remember((db, _, visitor: string) => readVisitorCalls(db, visitor)).soon,
    /** Without dates, of the last week that is over. `report` null: no facts are derived yet. */
    report: remember(async (db, { name }, range: Partial<DateRange>) => ({
      report: await readReport(db, name, range, now()),
    })).soon,
    reviews: createReviews(async (project) => {
      const { db, kind, projectDb } = await long.warehouse()
      return { outbox: createOutbox(projectDb(project)), at: (await readClock(db, kind))() }
    }, now),
    close: async () => {
      await brief.close()
      await long.close()
    },
  }
}

function openOnDemand(address: DatabaseAddress, apart: 'brief' | 'long') {
  let opening: Promise<Warehouse> | null = null
  return {
    warehouse: (): Promise<Warehouse> => {
      const options = { ...addressOptions(address), access: 'read', apart } as const
      opening ??= openWarehouse(address.databaseUrl, options).catch((error: unknown) => {
        opening = null
        throw error
      })
      return opening
    },
    close: async () => (await opening?.catch(() => null))?.close(),
  }
}
