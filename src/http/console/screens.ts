/** The screens: the address of each, who may see it, and how its data become a page. */
import type { ConsoleData } from '../../app/console/console-data.ts'
import type { ConsoleProject } from '../../app/console/console-project.ts'
import type { Page, ProjectFrame } from '../../console/page.ts'
import { overviewPage } from '../../console/pages/overview.ts'
import { runPage, runsPage } from '../../console/pages/runs.ts'
import { streamPage, streamsPage } from '../../console/pages/streams.ts'
import type { Role } from '../../core/console/roles.ts'
import { streamNames } from '../../core/stream-specs.ts'

export type ScreenRequest = {
  readonly data: ConsoleData
  readonly project: ConsoleProject
  readonly frame: ProjectFrame
  readonly params: Readonly<Record<string, string>>
  /** A parameter of the address; null = it is missing or empty. */
  readonly query: (name: string) => string | null
}

/** `show` returns null if there is no such thing, or the address of another page. */
export type Screen = {
  readonly path: string
  readonly role: Role
  readonly show: (request: ScreenRequest) => Promise<Page | { readonly redirect: string } | null>
}

const rowsPerPage = 50

/** Below `/console/p/:project`. */
export const projectScreens: readonly Screen[] = [
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
