/** Renders the results of simulations as a table, one line per number of workers. */
import { childStreamNames, streamSpecs } from '../../schema/stream-specs.ts'
import { type MeasuredCosts, type SharedUse, sharedUse } from './measured-costs.ts'
import type { Scenario } from './scenarios.ts'
import type { FleetResult, Simulation } from './simulate.ts'

export type ScenarioRun = { readonly workers: number; readonly outcome: FleetResult }

const columns = [
  ['workers', 7],
  ['CPU', 11],
  ['lag of new rows: median, p95, max', 35],
  ['oldest: median, max', 21],
  ['waits', 9],
  ['requests/s', 10],
  ['Redis/s', 9],
  ['Redis CPU', 9],
  ['commits/s', 9],
  ['Postgres', 10],
  ['connections', 12],
] as const

export function renderHeader(): string {
  return columns.map(([name, width]) => name.padStart(width)).join(' ')
}

export function renderRow(
  { workers, outcome }: ScenarioRun,
  { forMs, warmUpMs }: Scenario,
  measured: MeasuredCosts,
): string {
  const seconds = (forMs - warmUpMs) / 1000
  const shared: SharedUse = sharedUse(measured, outcome, seconds)
  const { lag, age } = outcome
  const waits = Math.max(...Object.values(outcome.wait).map((wait) => wait.max()))
  const cells = [
    String(workers),
    `${formatPercent(meanCpu(outcome, seconds))} ${formatPercent(maxCpu(outcome, seconds))}`,
    [lag.quantile(0.5), lag.quantile(0.95), lag.max()].map(formatTime).join(' '),
    `${formatTime(age.quantile(0.5))} ${formatTime(age.max())}`,
    formatTime(waits),
    (outcome.requestsInWindow / seconds).toFixed(0),
    shared.redisCommands.toFixed(0),
    formatPercent(shared.redisCpu),
    shared.commits.toFixed(0),
    `${shared.postgresCores.toFixed(1)} cores`,
    `${(shared.connections / workers).toFixed(1)} of ${poolSize}`,
  ]
  return cells.map((cell, n) => cell.padStart(columns[n]?.[1] ?? 0)).join(' ')
}

/** Of a worker: `workLimits` in src/warehouse/postgres.ts. */
const poolSize = 6

/**
 * Every project is at most twice as old as the median one, no thread and no pool of connections
 * exceeds 70 %, and every sync ends before the next.
 */
export function isEnough(
  { workers, outcome }: ScenarioRun,
  { forMs, warmUpMs }: Scenario,
  measured: MeasuredCosts,
): boolean {
  const { age, lag } = outcome
  const seconds = (forMs - warmUpMs) / 1000
  const keepsUp = age.max() <= 2 * age.quantile(0.5) && lag.max() < 300_000
  const { connections } = sharedUse(measured, outcome, seconds)
  const hasConnections = connections / workers < 0.7 * poolSize
  return keepsUp && hasConnections && lag.count() > 0 && maxCpu(outcome, seconds) < 0.7
}

/** Requests that all projects need for their first mirror. */
export function firstMirror({ projects, load }: Pick<Simulation, 'projects' | 'load'>): number {
  const pages = Object.values(load.backlog).reduce((sum, count) => sum + count, 0)
  const parentPages = childStreamNames.map((child) => load.backlog[streamSpecs[child].parent])
  const lists = parentPages.reduce((sum, pages) => sum + pages * load.childrenPerPage, 0)
  return projects.length * (pages + lists)
}

function meanCpu({ cpuMs }: FleetResult, seconds: number): number {
  return cpuMs.reduce((sum, ms) => sum + ms, 0) / cpuMs.length / 1000 / seconds
}

function maxCpu({ cpuMs }: FleetResult, seconds: number): number {
  return Math.max(...cpuMs) / 1000 / seconds
}

function formatPercent(share: number): string {
  return `${(100 * share).toFixed(0)} %`
}

function formatTime(ms: number): string {
  if (ms < 10_000) return `${(ms / 1000).toFixed(2)} s`
  return ms < 600_000 ? `${(ms / 1000).toFixed(0)} s` : `${(ms / 60_000).toFixed(0)} min`
}
