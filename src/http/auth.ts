/** Who may ask: a token where one is set, and never another site's page in somebody's browser. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isLoopback } from '../core/base-url.ts'
import type { Secret } from '../core/secret.ts'
import type { Logger } from '../log.ts'

type RequestHook = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

const challenges = ['Bearer realm="deskmirror"', 'Basic realm="deskmirror", charset="UTF-8"']

/** Lets through who knows the token: as `Bearer`, or as the password of `Basic`, which a browser asks for by itself. */
export function createTokenHook(token: Secret, log: Logger): RequestHook {
  return async (request, reply) => {
    if (!hasToken(token, request.headers.authorization)) {
      log.warn({ event: 'http.denied', route: request.routeOptions.url })
      return reply
        .code(401)
        .header('www-authenticate', challenges)
        .send({ error: 'this needs the token of DESKMIRROR_HTTP_TOKEN' })
    }
    if (isCrossSite(request)) return reply.code(403).send({ error: 'another site may not ask for this' })
  }
}

/** What needs a token where there is none. */
export const disabledHook: RequestHook = async (_, reply) =>
  reply.code(403).send({ error: 'this is off: DESKMIRROR_HTTP_TOKEN (http_token in deskmirror.yaml) turns it on' })

/**
 * For a server that this machine alone can reach and that asks for no token: a page in a browser here can point a name of
 * its own to this address and would then read the answers ("DNS rebinding"), but the name stands in its requests.
 */
export const localHostHook: RequestHook = async (request, reply) => {
  const { host } = request.headers
  if (host === undefined || isLoopback(URL.parse(`http://${host}`)?.hostname ?? '')) return
  return reply.code(403).send({ error: 'without a token this server answers to the names of this machine only' })
}

function hasToken(token: Secret, authorization = ''): boolean {
  const [scheme = '', credentials = ''] = authorization.split(' ')
  if (scheme.toLowerCase() === 'bearer') return isEqualSecret(credentials, token.reveal())
  if (scheme.toLowerCase() !== 'basic') return false
  const password = Buffer.from(credentials, 'base64')
    .toString()
    .replace(/^[^:]*:/, '')
  return isEqualSecret(password, token.reveal())
}

/** In a time that tells nothing about how much of it was right. */
function isEqualSecret(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(expected))
}

/** A browser sends the password that it knows also with what another site's page lets it post. It says so, though. */
function isCrossSite({ method, headers }: FastifyRequest): boolean {
  if (method === 'GET' || method === 'HEAD') return false
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return headers.origin !== undefined && URL.parse(headers.origin)?.host !== headers.host
}
