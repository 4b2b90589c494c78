/** Converts measured costs into those of the simulation. */
import { type StreamName, streamNames } from '../../schema/stream-specs.ts'
import type { BudgetCost } from './budget-costs.ts'
import type { Costs, PerStream } from './costs.ts'
import type { QueueCosts } from './queue-costs.ts'
import type { FleetResult } from './simulate.ts'
import type { SyncCost, SyncCosts } from './sync-costs.ts'

export type MeasuredCosts = {
  readonly queue: QueueCosts
  readonly passes: SyncCosts
  readonly budget: BudgetCost
}

/** An assumption: the service's response time is unknown. */
const responseMs = 150

export function toSimulationCosts({
  queue,
  budget,
  passes: { idle, request, busyCpuMs },
}: MeasuredCosts): Costs {
  const lists = [idle.conversations, idle.visitors, idle.calls]
  const waited = lists.reduce((sum, cost) => sum + waitedMs(cost), 0) / lists.length
  return {
    tickCpuMs: queue.tick.cpuMs,
    passCpuMs: forEachStream(
      (stream) =>
        Math.max(0, idle[stream].cpuMs - idle[stream].requests * request.cpuMs) + queue.pass.cpuMs,
    ),
    busyCpuMs: busyCpuMs + queue.pass.cpuMs,
    requestCpuMs: request.cpuMs,
    passMs: waited,
    requestMs: responseMs,
    queueMs: queue.pass.serverMs,
    budgetMs: budget.serverMs,
  }
}

export function idleRequests({ passes: { idle } }: MeasuredCosts): PerStream<number> {
  return forEachStream((stream) => Math.round(idle[stream].requests))
}

/** For the warehouse: the service of the measurement answers at once. A connection is held meanwhile. */
const waitedMs = ({ tookMs, cpuMs }: SyncCost) => Math.max(0, tookMs - cpuMs)

/** The use of shared servers per second. */
export type SharedUse = {
  readonly redisCommands: number
  /** Share of one core. */
  readonly redisCpu: number
  readonly commits: number
  readonly postgresCores: number
  /** Connections to Postgres that are in use at a time, of all workers. */
  readonly connections: number
}

export function sharedUse(
  { queue, budget, passes: { idle, request } }: MeasuredCosts,
  result: FleetResult,
  seconds: number,
): SharedUse {
  const sum = (of: (stream: StreamName) => number) =>
    streamNames.reduce((all, stream) => all + of(stream), 0)
  const passes = sum((stream) => result.passes[stream])
  const counted = sum((stream) => result.passes[stream] * Math.round(idle[stream].requests))
  const more = Math.max(0, result.requestsInWindow - counted)
  const commands = passes * queue.pass.commands + result.ticks * queue.tick.commands
  const warehouse = (of: (cost: SyncCost) => number) =>
    sum((stream) => result.passes[stream] * of(idle[stream])) + more * of(request)
  return {
    redisCommands: (commands + result.requestsInWindow * budget.commands) / seconds,
    redisCpu: result.queueMs / 1000 / seconds,
    commits: warehouse(({ commits }) => commits) / seconds,
    postgresCores: warehouse(({ warehouseMs }) => warehouseMs) / 1000 / seconds,
    connections: warehouse(waitedMs) / 1000 / seconds,
  }
}

function forEachStream(value: (stream: StreamName) => number): PerStream<number> {
  return Object.fromEntries(
    streamNames.map((stream) => [stream, value(stream)]),
  ) as PerStream<number>
}
