/** Converts measured costs into those of the simulation. */
import { type StreamName, streamNames } from '../../schema/stream-specs.ts'
import type { BudgetCost } from './budget-costs.ts'
import type { Costs, PerStream } from './costs.ts'
import type { QueueCosts } from './queue-costs.ts'
import type { FleetResult } from './simulate.ts'
import type { SyncCosts } from './sync-costs.ts'

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
  const waited =
    lists.reduce((sum, { tookMs, cpuMs }) => sum + Math.max(0, tookMs - cpuMs), 0) / lists.length
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

/** The use of shared servers per second. */
export type SharedUse = {
  readonly redisCommands: number
  /** Share of one core. */
  readonly redisCpu: number
  readonly commits: number
  readonly postgresCores: number
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
  const warehouse = (what: 'commits' | 'warehouseMs') =>
    sum((stream) => result.passes[stream] * idle[stream][what]) + more * request[what]
  return {
    redisCommands: (commands + result.requestsInWindow * budget.commands) / seconds,
    redisCpu: result.queueMs / 1000 / seconds,
    commits: warehouse('commits') / seconds,
    postgresCores: warehouse('warehouseMs') / 1000 / seconds,
  }
}

function forEachStream(value: (stream: StreamName) => number): PerStream<number> {
  return Object.fromEntries(
    streamNames.map((stream) => [stream, value(stream)]),
  ) as PerStream<number>
}
