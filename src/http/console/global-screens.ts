/** The screens about all projects: where one begins, and the audit log. */
import type { FastifyInstance } from 'fastify'
import { auditLogPage } from '../../console/pages/audit-log.ts'
import { projectsPage } from '../../console/pages/overview.ts'
import type { Role } from '../../core/console/roles.ts'
import { path } from '../../core/html/address.ts'
import type { ConsoleOptions } from './console-options.ts'
import { requireRole } from './require-role.ts'
import type { FrameFor, SendPage } from './send-page.ts'

/** With the role that each needs. */
export const globalScreenPaths: readonly { readonly path: string; readonly role: Role }[] = [
  { path: '/projects', role: 'viewer' },
  { path: '/log', role: 'approver' },
]

/** Overviews on the page of all projects. */
const maxProjects = 50

export function addGlobalScreens(
  app: FastifyInstance,
  { projects, data, audit }: ConsoleOptions,
  frameFor: FrameFor,
  send: SendPage,
): void {
  app.get('/', async (_, reply) => {
    const all = await projects()
    const [first] = all
    const to = first !== undefined && all.length === 1 ? path`/console/p/${first.name}` : '/console/projects'
    return reply.redirect(to, 303)
  })
  app.get('/projects', async (request, reply) => {
    const shown = (await projects()).slice(0, maxProjects)
    const rows = await Promise.all(
      shown.map(async (project) => ({
        name: project.name,
        data: await data.overview(project),
        frame: { ...(await frameFor(request.viewer, project)), project: project.name },
      })),
    )
    return send(reply, projectsPage(rows), request.viewer)
  })
  app.get<{ Querystring: { before?: unknown } }>('/log', async (request, reply) => {
    if (!(await requireRole(request, reply, 'approver', send))) return reply
    const { before } = request.query
    const events = await audit.list(typeof before === 'string' && before !== '' ? before : null, eventsPerPage)
    const next = events.length < eventsPerPage ? null : (events.at(-1)?.id ?? null)
    return send(reply, auditLogPage({ events, next }, await frameFor(request.viewer, null)), request.viewer)
  })
}

const eventsPerPage = 100
