/** The two operations on the project as a whole: the analytics rollup and the availability of agents. */
import type { EpochMs } from '../../core/time.ts'
import type { Sequence } from '../model.ts'
import { firstWhere } from '../order.ts'
import { purposes, unit } from '../past/dice.ts'
import type { Project } from '../project.ts'
import { queryReader } from './ask.ts'
import { type Json, stamp } from './json.ts'
import type { Asked, Operation } from './operation.ts'

export const overviewOperations: readonly Operation[] = [
  {
    id: 'getAnalytics',
    method: 'GET',
    path: '/public/projects/{projectId}/analytics',
    scope: 'analytics:read',
    query: () => ['from', 'to'],
    run: getAnalytics,
  },
  {
    id: 'getAvailability',
    method: 'GET',
    path: '/public/projects/{projectId}/availability',
    scope: 'availability:read',
    query: () => [],
    run: ({ project, now }) => availabilityOf(project, now),
  },
]

const month = 30 * 86_400_000

function getAnalytics({ project, query, switches: s, now }: Asked): Json {
  const read = queryReader(query, s)
  const need = s['analytics.range']
  const [from, to] = [read.time('from', need), read.time('to', need)]
  read.done()
  return rollupOf(project, from ?? now - month, to ?? now)
}

/** What happened from `from` up to, but not at, `to`. Counts are true; times and ratings are made up, the same each time. */
export function rollupOf({ state }: Project, from: EpochMs, to: EpochMs): Json {
  const thrown = state.world.dice(purposes.rollup, Math.floor(from / 60_000), Math.floor(to / 60_000))
  const started = within(state.conversations.by('createdAt'), from, to)
  return {
    from: stamp(from),
    to: stamp(to),
    conversations: { started, active: within(state.conversations.by('lastMessageAt'), from, to) },
    visitors: { new: within(state.visitors.by('createdAt'), from, to) },
    calls: { total: within(state.calls.by('startedAt'), from, to) },
    responseTimes: { firstMedianSeconds: thrown % 900, firstP90Seconds: 900 + (thrown % 5000) },
    satisfaction: started === 0 ? null : Math.round(unit(thrown) * 500) / 100,
    busiestHours: [9 + (thrown % 3), 14 + (thrown % 4)],
  }
}

function within(rows: Sequence<unknown>, from: EpochMs, to: EpochMs): number {
  const first = (time: EpochMs) => firstWhere(rows.length, (position) => rows.timeAt(position) >= time)
  return Math.max(0, first(to) - first(from))
}

export function availabilityOf({ id, state }: Project, now: EpochMs): Json {
  const agentsOnline = state.world.dice(purposes.agent, 0, Math.floor(now / 60_000)) % 5
  return { projectId: id, available: agentsOnline > 0, agentsOnline }
}
