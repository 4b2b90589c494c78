/** The console below `/console`: checks every request, then answers with a page. */
import fastifyCookie from '@fastify/cookie'
import fastifyFormbody from '@fastify/formbody'
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { Role, Viewer } from '../../config/roles.ts'
import { tooManyText } from '../../http/auth.ts'
import type { HttpRoutes } from '../../http/server.ts'
import { decodeSegment, path } from '../../values/address.ts'
import type { ProjectName } from '../../values/project.ts'
import type { EpochMs } from '../../values/time.ts'
import { UserError } from '../../values/user-error.ts'
import type { ConsoleProject } from '../data/console-project.ts'
import type { ProjectFrame } from '../page.ts'
import { auditLogPage } from '../pages/audit-log.ts'
import { projectsPage } from '../pages/overview.ts'
import { problemPage } from '../pages/sign-in.ts'
import { addHeaders, serveAssets } from './assets.ts'
import type { ConsoleOptions } from './console-options.ts'
import { addDecisions } from './decide.ts'
import { valuesOf } from './decision-target.ts'
import { addImport } from './import.ts'
import { createLiveStreams } from './live.ts'
import { bearerOf, hasLocalHost, refusalOf } from './request-checks.ts'
import { projectScreens, type Screen } from './screens.ts'
import { createFrames, createSendPage, type FrameFor, requireRole, type SendPage } from './send-page.ts'
import { createSessions, type Sessions } from './session.ts'
import { type Access, addSignIn, cookieName } from './sign-in.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is signed in; only on routes of the console. */
    viewer: Viewer | null
  }
}

const prefix = '/console'

/** Everything else needs a session. */
const openRoutes: ReadonlySet<string> = new Set([`${prefix}/sign-in`])

export function consoleRoutes(options: ConsoleOptions): HttpRoutes {
  return { prefix, auth: 'own', plugin: consolePlugin(options) }
}

export function consolePlugin(options: ConsoleOptions): FastifyPluginAsync {
  return async (app) => {
    const access = { sessions: createSessions(options.access, options.ended), attempts: options.attempts }
    app.decorateRequest('viewer', null)
    await app.register(fastifyCookie)
    await app.register(fastifyFormbody)
    await addHeaders(app)
    const assets = await serveAssets(app, prefix)
    const frameFor = createFrames(options, assets)
    const send = createSendPage(frameFor)
    app.addHook('onRequest', async (request, reply) => admit(request, reply, options, access, send))
    app.addHook('onRequest', async (request, reply) => readNames(request, reply))
    handleProblems(app, options, send)
    addSignIn(app, options, access, send)
    addGlobalScreens(app, options, frameFor, send)
    for (const screen of projectScreens) addScreen(app, screen, options, frameFor, send)
    addDecisions(app, options, frameFor, send)
    await addImport(app, options, frameFor, send)
    addLive(app, options, access, assets)
  }
}

/** Only a batch in SQLite can have a name with a NUL: Postgres has no text with one. */
function readNames({ params, routeOptions }: FastifyRequest, reply: FastifyReply): unknown {
  const named = params as Record<string, string>
  for (const [key, segment] of Object.entries(named)) named[key] = decodeSegment(segment)
  const hasNul = Object.values(named).some((name) => name.includes('\0'))
  if (!hasNul || routeOptions.url?.endsWith('/batches/:id') === true) return
  reply.callNotFound()
  return reply
}

/** Sends an answer if the request may not go on. */
async function admit(
  request: FastifyRequest,
  reply: FastifyReply,
  { now, log }: ConsoleOptions,
  { sessions, attempts }: Access,
  send: SendPage,
): Promise<unknown> {
  const route = request.routeOptions.url ?? ''
  const refusal = refusalOf(request)
  if (refusal !== null) return send(reply.code(403), problemPage('Refused', refusal, null), null)
  if (!sessions.hasTokens() && !hasLocalHost(request))
    return send(
      reply.code(403),
      problemPage('Refused', 'Without tokens the console accepts only names of this machine.', null),
      null,
    )
  if (route.startsWith(`${prefix}/assets/`)) return
  reply.header('cache-control', 'no-store')
  const bearer = bearerOf(request.headers)
  const waitMs = bearer === null ? 0 : attempts.waitMs(request.ip, now())
  if (waitMs > 0) return send(reply.code(429), problemPage('Refused', tooManyText(waitMs), null), null)
  request.viewer = await viewerOf(request, sessions, now())
  if (bearer !== null && request.viewer === null) {
    attempts.recordFailure(request.ip, now())
    log.warn({ event: 'console.token_refused', route })
  }
  if (request.viewer !== null || openRoutes.has(route)) return
  const isPage = request.method === 'GET' && bearer === null
  if (isPage) return reply.redirect(`${prefix}/sign-in?next=${encodeURIComponent(request.url)}`, 303)
  return send(reply.code(401), problemPage('Sign in', 'Your session has ended.', `${prefix}/sign-in`), null)
}

/** Who the request is from at this moment; null = nobody who may be here. */
async function viewerOf(request: FastifyRequest, sessions: Sessions, now: EpochMs): Promise<Viewer | null> {
  const bearer = bearerOf(request.headers)
  if (bearer !== null) return sessions.checkBearer(bearer)
  const cookie = request.cookies[cookieName(request)]
  return cookie === undefined ? null : sessions.verify(cookie, now)
}

function addScreen(app: FastifyInstance, screen: Screen, options: ConsoleOptions, frameFor: FrameFor, send: SendPage) {
  const { data, writebacks, projects } = options
  app.get<{ Params: Record<string, string>; Querystring: Record<string, unknown> }>(
    `/p/:project${screen.path}`,
    async (request, reply) => {
      const { viewer, params } = request
      if (!(await requireRole(request, reply, screen.role, send))) return reply
      const project = (await projects()).find(({ name }) => name === params.project)
      const isMissing = project === undefined || (screen.isDecision === true && options.decisions() === null)
      if (isMissing) return notFound(reply, send, viewer)
      const frame = { ...(await frameFor(viewer, project)), project: project.name } satisfies ProjectFrame
      const query = (name: string) => textOf(request.query[name])
      const client = new AbortController()
      // It also closes after an answer, for which a review may go on.
      reply.raw.once('close', () => void (reply.raw.writableFinished || client.abort()))
      const all = valuesOf(request.query)
      const parts = { data, writebacks, project, frame, params, query, all, signal: client.signal }
      const shown = await screen.show(parts)
      if (shown === null) return notFound(reply, send, viewer, project)
      if ('redirect' in shown) return reply.redirect(shown.redirect, 303)
      return send(reply, shown, viewer, project)
    },
  )
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value.slice(0, 1000) : null
}

function notFound(reply: FastifyReply, send: SendPage, viewer: Viewer | null, project: ConsoleProject | null = null) {
  const to = project === null ? prefix : path`/console/p/${project.name}`
  return send(reply.code(404), problemPage('Not found', 'There is nothing here.', to), viewer, project)
}

function addLive(app: FastifyInstance, options: ConsoleOptions, { sessions }: Access, assets: string): void {
  const { projects, now, isReadOnly } = options
  const common = { viewer: null, projects: [], assets, isReadOnly, canDecide: false }
  const live = createLiveStreams(options, ({ name, timeZone }) => ({ ...common, project: name, timeZone, now: now() }))
  app.addHook('preClose', async () => live.close())
  app.get<{ Params: { project: ProjectName } }>('/p/:project/live', async (request, reply) => {
    const project = (await projects()).find(({ name }) => name === request.params.project)
    const person = request.viewer?.name ?? ''
    if (project === undefined || live.isFull(person)) return reply.code(project === undefined ? 404 : 503).send('')
    // Fastify answers HEAD by this route, too, and the stream has no end.
    if (request.method === 'HEAD') return reply.type('text/event-stream').send()
    reply.hijack()
    const mayListen = async () => (await viewerOf(request, sessions, now())) !== null
    live.add(project, { response: reply.raw, person, mayListen })
  })
}

/** What a person can do about it; the log has the rest. */
function handleProblems(app: FastifyInstance, { log }: ConsoleOptions, send: SendPage): void {
  app.setNotFoundHandler((request, reply) => notFound(reply, send, request.viewer))
  app.setErrorHandler((error: Error & { readonly statusCode?: number }, request, reply) => {
    const status = error.statusCode ?? (error instanceof UserError ? 503 : 500)
    // What was being read for a client that has left was given up.
    if (status >= 500 && !reply.raw.destroyed)
      log.error({ event: 'console.failed', route: request.routeOptions.url, why: error.message })
    const text =
      error instanceof UserError ? `${error.message}. ${error.next}` : status < 500 ? error.message : 'See the log.'
    return send(reply.code(status), problemPage('This did not work', text, prefix), request.viewer)
  })
}

/** With the role that each needs. */
export const globalScreenPaths: readonly { readonly path: string; readonly role: Role }[] = [
  { path: '/projects', role: 'viewer' },
  { path: '/log', role: 'approver' },
]

/** Overviews on the page of all projects. */
const maxProjects = 50

function addGlobalScreens(
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
    const names = new Map((await projects()).map(({ projectId, name }) => [projectId, name]))
    const page = auditLogPage({ events, next, names }, await frameFor(request.viewer, null))
    return send(reply, page, request.viewer)
  })
}

const eventsPerPage = 100
