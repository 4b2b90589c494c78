/** The two operations on the project as a whole: the analytics rollup and the availability of agents. */

import type { Json } from '../../core/row.ts'
import { type EpochMs, toTimestamp } from '../../core/time.ts'
import type { Sequence } from '../model.ts'
import type { Project } from '../project.ts'
import { purposes, toUnitInterval } from '../seed/random.ts'
import { findFirstPosition } from '../time-order.ts'
import type { Operation, OperationRequest } from './operation.ts'
import { createQueryReader } from './read-request.ts'

export const overviewOperations: readonly Operation[] = [
  {
    id: 'getAnalytics',
    method: 'GET',
    path: '/public/projects/{projectId}/analytics',
    scope: 'analytics:read',
    query: ['from', 'to'],
    run: getAnalytics,
  },
  {
    id: 'getAvailability',
    method: 'GET',
    path: '/public/projects/{projectId}/availability',
    scope: 'availability:read',
    run: ({ project, now }) => computeAvailability(project, now),
  },
]

const month = 30 * 86_400_000

function getAnalytics({ project, query, switches: s, now }: OperationRequest): Json {
  const read = createQueryReader(query, s)
  const need = s['analytics.range']
  const [from, to] = [read.time('from', need), read.time('to', need)]
  read.throwIssues()
  return computeRollup(project, from ?? now - month, to ?? now)
}

/** The events from `from` to before `to`. Counts are exact; times and ratings are random, but stable. */
export function computeRollup({ state }: Project, from: EpochMs, to: EpochMs): Json {
  const draw = state.seedData.random(purposes.rollup, Math.floor(from / 60_000), Math.floor(to / 60_000))
  const started = countWithin(state.conversations.orderedBy('createdAt'), from, to)
  return {
    from: toTimestamp(from),
    to: toTimestamp(to),
    conversations: { started, active: countWithin(state.conversations.orderedBy('lastMessageAt'), from, to) },
    visitors: { new: countWithin(state.visitors.orderedBy('createdAt'), from, to) },
    calls: { total: countWithin(state.calls.orderedBy('startedAt'), from, to) },
    responseTimes: { firstMedianSeconds: draw % 900, firstP90Seconds: 900 + (draw % 5000) },
    satisfaction: started === 0 ? null : Math.round(toUnitInterval(draw) * 500) / 100,
    busiestHours: [9 + (draw % 3), 14 + (draw % 4)],
  }
}

function countWithin(rows: Sequence<unknown>, from: EpochMs, to: EpochMs): number {
  const first = (time: EpochMs) => findFirstPosition(rows.length, (position) => rows.timeAt(position) >= time)
  return Math.max(0, first(to) - first(from))
}

export function computeAvailability({ id, state }: Project, now: EpochMs): Json {
  const agentsOnline = state.seedData.random(purposes.agent, 0, Math.floor(now / 60_000)) % 5
  return { projectId: id, available: agentsOnline > 0, agentsOnline }
}
