/** The console below `/console`: checks every request, then answers with a page. */

import fastifyCookie from '@fastify/cookie'
import fastifyFormbody from '@fastify/formbody'
import type { FastifyInstance, FastifyPluginAsync, FastifyReply } from 'fastify'
import type { ReadableNow } from '../../app/read-now.ts'
import type { Config } from '../../config/config.ts'
import { rememberResults } from '../../http/remember-results.ts'
import type { Ms } from '../../values/time.ts'
import { toSentences, UserError } from '../../values/user-error.ts'
import { addressOf } from '../blocks.ts'
import { settingsOf } from '../decisions.ts'
import { showAuditLog, showProjects } from '../pages/all-projects.ts'
import type { ConsoleProject } from '../project.ts'
import type { FileAnswer, Screen } from '../screen.ts'
import { admit, readNames } from './admit.ts'
import { addHeaders, serveAssets } from './assets.ts'
import { addCorrections } from './corrections.ts'
import { addDecisions } from './decide.ts'
import { addDrafts } from './drafts.ts'
import { addImport } from './import.ts'
import { projectScreens } from './screens.ts'
import { addSignIn } from './sign-in.ts'
import { type ConsoleOptions, createSite, prefix, type Site, valuesOf } from './site.ts'

export function consolePlugin(options: ConsoleOptions): FastifyPluginAsync {
  return async (app) => {
    app.decorateRequest('viewer', null)
    await app.register(fastifyCookie)
    await app.register(fastifyFormbody)
    await addHeaders(app)
    const site = createSite(options, await serveAssets(app, prefix))
    app.addHook('onRequest', async (request, reply) => admit(request, reply, site))
    app.addHook('onRequest', async (request, reply) => readNames(request, reply))
    handleProblems(app, site)
    addSignIn(app, site)
    addGlobalScreens(app, site)
    for (const screen of projectScreens) addScreen(app, screen, site)
    addDecisions(app, site)
    addDrafts(app, site)
    addCorrections(app, site)
    await addImport(app, site)
  }
}

/** A page that is loaded again and again asks the service no more often. */
const readAgainAfterMs: Ms = 30_000

function addScreen(app: FastifyInstance, screen: Screen, site: Site): void {
  const { config, log, send, sendProblem } = site
  type Reading = {
    readonly of: Config
    readonly project: ConsoleProject
    readonly stream: ReadableNow
    readonly id: string
  }
  const readings = rememberResults({
    maxAgeMs: readAgainAfterMs,
    now: site.now,
    read: async ({ of, project, stream, id }: Reading) => {
      // Most pages read nothing from the service.
      const { readNow } = await import('../../app/read-now.ts')
      return readNow(of, settingsOf(of, project), stream, id, log)
    },
  })
  type Route = { Params: { project: string; id?: string } }
  app.get<Route>(`/p/:project${screen.path}`, async (request, reply) => {
    if (!(await site.requireRole(request, reply, screen.role))) return reply
    const project = await site.findProject(request.params.project)
    if (project === null || (screen.isDecision === true && config() === null))
      return reply.callNotFound()
    const all = valuesOf(request.query)
    const settings = config()
    const readNow = (of: Config, stream: ReadableNow, id: string) =>
      readings.get(`${project.name} ${stream} ${id}`, { of, project, stream, id })
    const shown = await screen.show({
      ...(await site.openProject(request.viewer, project)),
      all,
      id: request.params.id ?? '',
      readNow: settings === null ? null : (stream, id) => readNow(settings, stream, id),
      query: (name) => all(name).at(0)?.slice(0, 1000) ?? null,
    })
    if (shown === null)
      return sendProblem(reply, 404, ...notFound(addressOf({ project: project.name })), project)
    if ('redirect' in shown) return reply.redirect(shown.redirect, 303)
    return 'file' in shown ? sendFile(reply, shown) : send(reply, shown, project)
  })
}

/** Its name is our own. */
function sendFile(reply: FastifyReply, { file: { name, type, content } }: FileAnswer) {
  return reply
    .type(type)
    .header('content-disposition', `attachment; filename="${name}"`)
    .send(content)
}

const notFound = (to: string) => ['Not found', 'There is nothing here.', to] as const

/** What a person can do about it; the log has the rest. */
function handleProblems(app: FastifyInstance, { log, sendProblem }: Site): void {
  app.setNotFoundHandler((_, reply) => sendProblem(reply, 404, ...notFound(prefix)))
  app.setErrorHandler((error: Error & { readonly statusCode?: number }, request, reply) => {
    const status = error.statusCode ?? (error instanceof UserError ? 503 : 500)
    if (status >= 500)
      log.error({ event: 'console.failed', route: request.routeOptions.url, why: error.message })
    const text =
      error instanceof UserError
        ? toSentences(error)
        : status < 500
          ? error.message
          : 'See the log.'
    return sendProblem(reply, status, 'This did not work', text, prefix)
  })
}

/** About all projects. */
export const globalScreens = [
  { path: '/projects', role: 'viewer', show: showProjects },
  { path: '/log', role: 'approver', show: showAuditLog },
] as const satisfies readonly (Pick<Screen, 'path' | 'role'> & { show: typeof showProjects })[]

function addGlobalScreens(app: FastifyInstance, site: Site): void {
  app.get('/', async (_, reply) => {
    const [first, ...others] = await site.projects()
    const isOnly = first !== undefined && others.length === 0
    return reply.redirect(isOnly ? addressOf({ project: first.name }) : `${prefix}/projects`, 303)
  })
  for (const { path, role, show } of globalScreens)
    app.get(path, async (request, reply) => {
      if (!(await site.requireRole(request, reply, role))) return reply
      return site.send(reply, await show(site, request))
    })
}
