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
import { readProjectState } from '../maintenance/sql/status.ts'
import { createOutbox } from '../outbox/sql/outbox.ts'
import type { EpochMs, Ms } from '../values/time.ts'
import { errorText } from '../values/user-error.ts'
import { readClock } from '../warehouse/dialect.ts'
import { scheduleOf } from './core/stream-state.ts'
import { createListReads } from './list-reads.ts'
import { type ConsoleProject, limitOf } from './project.ts'
import { createReviews } from './reviews.ts'
import { listCountedConversations, readCountedConversations } from './sql/counted-conversations.ts'
import { readOverview } from './sql/overview.ts'
import { replySheet, type SheetList } from './sql/reply-sheet.ts'
import { readStreams } from './sql/streams.ts'

export type ConsoleReads = ReturnType<typeof openConsoleReads>
export type OverviewData = Awaited<ReturnType<ConsoleReads['overview']>>
export type WeekData = Awaited<ReturnType<ConsoleReads['week']>>
export type StreamRow = OverviewData['streams'][number]

/** Counting takes too long for a page, so that it shows what was counted within the last minute. */
const countsHoldMs: Ms = 60_000
/** What is counted of a small mirror is there by then. */
const countsWaitMs: Ms = 100
/** The views for analysts take seconds for a million messages. */
const daysHoldMs: Ms = 10 * 60_000
/** Several open pages ask for the same. */
const overviewHoldsMs: Ms = 1000

type PeriodRequest = {
  readonly project: ConsoleProject
  readonly name: PeriodTableName
  readonly period: PeriodFilter
}
type RangeRequest<Range = DateRange> = { readonly project: ConsoleProject; readonly range: Range }

export function openConsoleReads(address: DatabaseAddress, now: () => EpochMs) {
  // A second reader, so that no page waits behind a count of all rows.
  const brief = openOnDemand(address, 'brief')
  const long = openOnDemand(address, 'long')
  const longDb = async ({ projectId }: ConsoleProject) =>
    (await long.warehouse()).projectDb(projectId)
  const remember = <Input, T>(
    maxAgeMs: Ms | ((value: T) => Ms),
    read: (input: Input) => Promise<T>,
  ) => rememberResults({ maxAgeMs, now, read })
  const weeks = remember(
    // Its numbers follow the first sync, which may end at any moment.
    ({ report }) => (report?.period.whole == null ? countsHoldMs : daysHoldMs),
    async (project: ConsoleProject) => ({
      report: await readReport(await longDb(project), project.name, 'last 7 days', now()),
    }),
  )
  const periodTables = remember(countsHoldMs, async ({ project, name, period }: PeriodRequest) =>
    readPeriodTable(await longDb(project), name, period),
  )
  const agentNames = remember(daysHoldMs, async ({ project, name, period }: PeriodRequest) =>
    readAgentNames(await longDb(project), period, name),
  )
  /** `report` null: no facts have been derived yet. */
  const reports = remember(
    countsHoldMs,
    async ({ project, range }: RangeRequest<Partial<DateRange>>) => {
      return { report: await readReport(await longDb(project), project.name, range, now()) }
    },
  )
  type ListRequest = {
    readonly project: ConsoleProject
    readonly filter: FactFilter
    readonly offset: number
  }
  const lists = remember(countsHoldMs, async ({ project, filter, offset }: ListRequest) =>
    readCountedConversations(await longDb(project), filter, offset),
  )
  const keyOf = ({ projectId }: ConsoleProject, ...parts: readonly unknown[]) =>
    JSON.stringify([projectId, ...parts])
  const tableOf = (
    project: ConsoleProject,
    name: PeriodTableName,
    { from, to, agent }: PeriodFilter,
  ) => {
    const period = { from, to, agent }
    return [keyOf(project, name, period), { project, name, period }] as const
  }
  /** `schedule`: like `every 5 min`; null = not known. */
  const overviews = remember(overviewHoldsMs, async (project: ConsoleProject) => {
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
  })
  return {
    warehouse: brief.warehouse,
    overview: (project: ConsoleProject) => overviews.get(project.projectId, project),
    /**
     * Null: they are still being counted; a text: why they cannot be, as the rest of the overview
     * is there all the same.
     */
    week: (project: ConsoleProject) =>
      weeks.soon(project.projectId, project, countsWaitMs).catch(errorText),
    /** Those that are `Soon`, and what follows: null = it is still being counted. */
    periodTable: (...of: Parameters<typeof tableOf>) => periodTables.get(...tableOf(...of)),
    periodTableSoon: (...of: Parameters<typeof tableOf>) =>
      periodTables.soon(...tableOf(...of), countsWaitMs),
    agentNames: (project: ConsoleProject, name: PeriodTableName, period: PeriodFilter) =>
      agentNames.soon(
        ...tableOf(project, name === 'calls' ? name : 'agents', { ...period, agent: null }),
        countsWaitMs,
      ),
    countedConversations: (project: ConsoleProject, filter: FactFilter, offset: number) =>
      lists.soon(keyOf(project, filter, offset), { project, filter, offset }, countsWaitMs),
    allCountedConversations: async (project: ConsoleProject, filter: FactFilter) =>
      listCountedConversations(await longDb(project), filter),
    ...createListReads(longDb, now),
    /** Without dates, of the last week that is over. */
    report: (project: ConsoleProject, range: Partial<DateRange>) =>
      reports.soon(keyOf(project, range), { project, range }, countsWaitMs),
    reviews: createReviews(async (project) => {
      const { db, kind, projectDb } = await long.warehouse()
      return { outbox: createOutbox(projectDb(project)), at: (await readClock(db, kind))() }
    }, now),
    sheet: async (project: ConsoleProject, list: SheetList) =>
      replySheet(await longDb(project), list, project, now()),
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
