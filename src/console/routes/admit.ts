/**
 * What every request to the console must show before anything else: where it comes from, and who
 * sends it.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Viewer } from '../../config/people.ts'
import { isLocalHost, tooManyText } from '../../http/auth.ts'
import { logRefusal } from '../../http/refusal-log.ts'
import { decodeSegment } from '../../values/address.ts'
import type { EpochMs } from '../../values/time.ts'
import type { Sessions } from './session.ts'
import { prefix, type Site } from './site.ts'

/** Everything else needs a session. */
const openRoutes: ReadonlySet<string> = new Set([`${prefix}/sign-in`])

/** Sends an answer if the request may not go on. */
export async function admit(
  request: FastifyRequest,
  reply: FastifyReply,
  site: Site,
): Promise<unknown> {
  const { sessions, attempts, sendProblem, now, log } = site
  const { url: route = '' } = request.routeOptions
  const refusal = refusalOf(request)
  if (refusal !== null) return sendProblem(reply, 403, 'Refused', refusal, null)
  // A name that leads to this machine: another one may be that of a page which points its name
  // here.
  if (!sessions.hasTokens() && !isLocalHost(request.headers.host ?? ''))
    return sendProblem(
      reply,
      403,
      'Refused',
      'Without tokens the console accepts only names of this machine.',
      null,
    )
  if (route.startsWith(`${prefix}/assets/`)) return
  reply.header('cache-control', 'no-store')
  const bearer = bearerOf(request)
  request.viewer = await viewerOf(request, sessions, now())
  if (bearer !== null && request.viewer === null) {
    const waitMs = attempts.recordWrong(request.ip, now())
    if (waitMs > 0) return sendProblem(reply, 429, 'Refused', tooManyText(waitMs), null)
    logRefusal(log, { event: 'console.token_refused', route })
  }
  if (request.viewer !== null || openRoutes.has(route)) return
  const isPage = request.method === 'GET' && bearer === null
  if (isPage)
    return reply.redirect(`${prefix}/sign-in?next=${encodeURIComponent(request.url)}`, 303)
  return sendProblem(reply, 401, 'Sign in', 'Your session has ended.', `${prefix}/sign-in`)
}

/**
 * Why a request is refused; null = it may go on. A page of another site can make a browser send
 * requests with the session, but it cannot change what the browser says about their origin.
 */
function refusalOf(request: FastifyRequest): string | null {
  // Postgres has no text with one, so nothing is there.
  if (request.url.includes('%00')) return 'this address has a character that no name has'
  if (request.method === 'GET' || request.method === 'HEAD')
    return isEmbedded(request) ? 'pages of other sites may not read this' : null
  return isFromOwnPage(request) ? null : 'this request does not come from a page of the console'
}

/** A link on another page may lead here; its images and scripts may not come from here. */
function isEmbedded({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  if (site === undefined || site === 'same-origin' || site === 'none') return false
  return headers['sec-fetch-mode'] !== 'navigate' || headers['sec-fetch-dest'] !== 'document'
}

/**
 * `same-site` is not enough: all ports of one host are one site. A browser on plain http of another
 * machine sends no `Sec-Fetch-Site`, but an origin. A program that sends neither has to show a
 * token, not a cookie.
 */
function isFromOwnPage(request: FastifyRequest): boolean {
  const { headers } = request
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  if (headers.origin !== undefined) return URL.parse(headers.origin)?.host === headers.host
  return headers.cookie === undefined && bearerOf(request) !== null
}

/** The token in `Authorization: Bearer`. */
function bearerOf({ headers }: FastifyRequest): string | null {
  return /^bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? null
}

/** Who the request is from at this moment; null = nobody who may be here. */
async function viewerOf(
  request: FastifyRequest,
  sessions: Sessions,
  now: EpochMs,
): Promise<Viewer | null> {
  const bearer = bearerOf(request)
  if (bearer !== null) return sessions.checkBearer(bearer)
  const cookie = request.cookies[cookieName(request)]
  return cookie === undefined ? null : sessions.verify(cookie, now)
}

/** Cookies do not know ports, and several consoles may run on one machine. */
export function cookieName(request: FastifyRequest): string {
  return `deskmirror-${request.socket.localPort ?? 0}`
}

/** Only a batch in SQLite can have a name with a NUL: Postgres has no text with one. */
export function readNames({ params, routeOptions }: FastifyRequest, reply: FastifyReply): unknown {
  const named = params as Record<string, string>
  for (const [key, segment] of Object.entries(named)) named[key] = decodeSegment(segment)
  const hasNul = Object.values(named).some((name) => name.includes('\0'))
  if (!hasNul || routeOptions.url?.endsWith('/batches/:id') === true) return
  reply.callNotFound()
  return reply
}
