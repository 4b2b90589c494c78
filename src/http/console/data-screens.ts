/** The screens for those who look after the mirror: overview, streams, runs, budget, charts, schema, service. */
import { budgetPage } from '../../console/pages/budget.ts'
import { chartsPage } from '../../console/pages/charts.ts'
import { overviewPage } from '../../console/pages/overview.ts'
import { runPage, runsPage } from '../../console/pages/runs.ts'
import { schemaPage } from '../../console/pages/schema.ts'
import { servicePage } from '../../console/pages/service.ts'
import { streamPage, streamsPage } from '../../console/pages/streams.ts'
import { streamNames } from '../../core/stream-specs.ts'
import type { Screen } from './screens.ts'

const rowsPerPage = 50

export const dataScreens: readonly Screen[] = [
  {
    path: '',
    role: 'viewer',
    show: async ({ data, project, frame }) => overviewPage(await data.overview(project), frame),
  },
  {
    path: '/streams',
    role: 'viewer',
    show: async ({ data, project, frame }) => streamsPage(await data.streams(project), frame),
  },
  {
    path: '/streams/:stream',
    role: 'viewer',
    show: async ({ data, project, frame, params }) => {
      const stream = streamNames.find((name) => name === params.stream)
      const found = stream === undefined ? null : await data.stream(project, stream)
      return found === null ? null : streamPage(found, frame)
    },
  },
  {
    path: '/runs',
    role: 'viewer',
    show: async ({ data, project, frame, query }) => {
      const reads = await data.reads(project)
      const outcome = query('outcome')
      const runs = await reads.runs(outcome, query('before'), rowsPerPage)
      return runsPage({ runs, outcome, next: runs.length < rowsPerPage ? null : (runs.at(-1)?.id ?? null) }, frame)
    },
  },
  {
    path: '/runs/:id',
    role: 'viewer',
    show: async ({ data, project, frame, params }) => {
      const run = await (await data.reads(project)).run(params.id ?? '')
      return run === null ? null : runPage(run, frame)
    },
  },
  {
    path: '/budget',
    role: 'viewer',
    show: async ({ data, project, frame, query }) => {
      const over = spanOf(query('over'), budgetSpans)
      const { ms, stepMs } = budgetSpans[over]
      const budget = await (await data.reads(project)).budget(frame.now - ms, frame.now, stepMs)
      return budgetPage({ data: { limit: project.limit, ...budget }, over, choices: Object.keys(budgetSpans) }, frame)
    },
  },
  {
    path: '/charts',
    role: 'viewer',
    show: async ({ data, project, frame, query }) => {
      const over = spanOf(query('over'), chartSpans)
      const from = new Date(frame.now - chartSpans[over] * dayMs).toISOString().slice(0, 10)
      return chartsPage({ days: await data.days(project, from), over, choices: Object.keys(chartSpans) }, frame)
    },
  },
  {
    path: '/schema',
    role: 'viewer',
    show: async ({ data, project, frame }) => schemaPage(await (await data.reads(project)).fields(), frame),
  },
  {
    path: '/service',
    role: 'viewer',
    show: async ({ data, project, frame }) => servicePage(await (await data.reads(project)).service(frame.now), frame),
  },
]

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** How long, and how long one bar is: some 60 to 100 bars. */
const budgetSpans = {
  '1 hour': { ms: hourMs, stepMs: 60_000 },
  '24 hours': { ms: dayMs, stepMs: 15 * 60_000 },
  '7 days': { ms: 7 * dayMs, stepMs: 2 * hourMs },
  '30 days': { ms: 30 * dayMs, stepMs: 8 * hourMs },
} as const

const chartSpans = { '30 days': 30, '14 days': 14, '90 days': 90, '365 days': 365 } as const

/** The first one if the address names none of them. */
function spanOf<Spans extends object>(asked: string | null, spans: Spans): keyof Spans & string {
  const names = Object.keys(spans) as (keyof Spans & string)[]
  const [first] = names
  const found = names.find((name) => name === asked) ?? first
  if (found === undefined) throw new Error('there are no spans')
  return found
}
