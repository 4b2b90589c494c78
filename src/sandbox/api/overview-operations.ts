/** The two operations on the project as a whole: the analytics rollup and the availability of agents. */
import type { Json } from '../../core/row.ts'
import { type EpochMs, toTimestamp } from '../../core/time.ts'
import type { Project } from '../project.ts'
import { computeRollup } from '../rollup.ts'
import { purposes } from '../seed/random.ts'
import type { Switches } from '../switches.ts'
import type { Operation, OperationRequest } from './operation.ts'
import { notFound, validationProblem } from './problem.ts'
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
    run: ({ project, now, switches: { 'availability.answer': shape } }) =>
      shape === 'plain' ? computeAvailability(project, now) : shape === 'list' ? [] : 'available',
  },
]

const month = 30 * 86_400_000

function getAnalytics({ project, query, switches: s, now }: OperationRequest): Json {
  const read = createQueryReader(query, s)
  const need = s['analytics.range']
  const [from, to] = [read.time('from', need), read.time('to', need)]
  read.throwIssues()
  const window = { from: from ?? now - month, to: to ?? now }
  const isUnreadable = s['analytics.unreadable'].includes(toTimestamp(window.from).slice(0, 10))
  return isUnreadable ? unreadableRollup(s['analytics.answer']) : computeRollup(project, window, s)
}

function unreadableRollup(answer: Switches['analytics.answer']): Json {
  if (answer === '400') throw validationProblem({ field: 'from', message: 'is a day without a rollup' })
  if (answer === '404') throw notFound('rollup')
  return answer === 'null' ? null : { projectId: '00000000-0000-4000-8000-000000000000', calls: { total: 1 } }
}

export function computeAvailability({ id, state }: Project, now: EpochMs): Json {
  const agentsOnline = state.seedData.random(purposes.agent, 0, Math.floor(now / 60_000)) % 5
  return { projectId: id, available: agentsOnline > 0, agentsOnline }
}
