/** From what was measured to the costs that the simulation is told. */
import { type StreamName, streamNames } from '../../src/core/row.ts'
import type { BudgetCost } from './budget-costs.ts'
import type { Costs, PerStream } from './costs.ts'
import type { SyncCosts } from './sync-costs.ts'
import type { QueueCosts } from './queue-costs.ts'
import type { SimulationResult } from './simulate.ts'

export type MeasuredCosts = { readonly queue: QueueCosts; readonly passes: SyncCosts; readonly budget: BudgetCost }

/** Nobody knows how fast the service answers. */
const answerMs = 150

export function toSimulationCosts({ queue, budget, passes: { idle, request, busyCpuMs } }: MeasuredCosts): Costs {
  const lists = [idle.conversations, idle.visitors, idle.calls]
  const waited = lists.reduce((sum, { tookMs, cpuMs }) => sum + Math.max(0, tookMs - cpuMs), 0) / lists.length
  return {
    tickCpuMs: queue.tick.cpuMs,
    passCpuMs: forEachStream((it) => Math.max(0, idle[it].cpuMs - idle[it].requests * request.cpuMs) + queue.pass.cpuMs),
    busyCpuMs: busyCpuMs + queue.pass.cpuMs,
    requestCpuMs: request.cpuMs,
    passMs: waited,
    requestMs: answerMs,
    queueMs: queue.pass.serverMs,
    budgetMs: budget.serverMs,
  }
}

export function idleRequests({ passes: { idle } }: MeasuredCosts): PerStream<number> {
  return forEachStream((stream) => Math.round(idle[stream].requests))
}

/** A second of what workers share. */
export type SharedUse = {
  readonly redisCommands: number
  /** Of one core. */
  readonly redisCpu: number
  readonly commits: number
  readonly postgresCores: number
}

export function sharedUse(
  { queue, budget, passes: { idle, request } }: MeasuredCosts,
  it: SimulationResult,
  seconds: number,
): SharedUse {
  const sum = (of: (stream: StreamName) => number) => streamNames.reduce((all, stream) => all + of(stream), 0)
  const passes = sum((stream) => it.passes[stream])
  const counted = sum((stream) => it.passes[stream] * Math.round(idle[stream].requests))
  const more = Math.max(0, it.requestsInWindow - counted)
  const commands = passes * queue.pass.commands + it.ticks * queue.tick.commands
  const warehouse = (what: 'commits' | 'warehouseMs') =>
    sum((stream) => it.passes[stream] * idle[stream][what]) + more * request[what]
  return {
    redisCommands: (commands + it.requestsInWindow * budget.commands) / seconds,
    redisCpu: it.queueMs / 1000 / seconds,
    commits: warehouse('commits') / seconds,
    postgresCores: warehouse('warehouseMs') / 1000 / seconds,
  }
}

function forEachStream(value: (stream: StreamName) => number): PerStream<number> {
  return Object.fromEntries(streamNames.map((stream) => [stream, value(stream)])) as PerStream<number>
}
