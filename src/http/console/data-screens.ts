/** The screens for those who look after the mirror: overview, streams, runs. */
import { overviewPage } from '../../console/pages/overview.ts'
import { runPage, runsPage } from '../../console/pages/runs.ts'
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
]
