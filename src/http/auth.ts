/** Access control: a token if one is set, and no requests from other sites' pages. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '../log.ts'
import type { Secret } from '../values/secret.ts'
import { isLoopback } from '../values/server-address.ts'
import type { EpochMs, Ms } from '../values/time.ts'

type RequestHook = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

const challenges = ['Bearer realm="deskmirror"', 'Basic realm="deskmirror", charset="UTF-8"']

/**
 * Admits requests with one of the tokens: as `Bearer`, or as the password of `Basic`, which browsers prompt for. Who sends
 * wrong ones has to wait.
 */
export function createTokenHook(tokens: readonly Secret[], attempts: Attempts, log: Logger): RequestHook {
  return async (request, reply) => {
    const given = tokenOf(request.headers.authorization)
    const waitMs = given === null ? 0 : attempts.waitMs(request.ip, Date.now())
    if (waitMs > 0)
      return reply
        .code(429)
        .header('retry-after', Math.ceil(waitMs / 1000))
        .send({ error: tooManyText(waitMs) })
    if (given === null || !tokens.some((token) => isEqualSecret(given, token.reveal()))) {
      if (given !== null) attempts.recordFailure(request.ip, Date.now())
      log.warn({ event: 'http.denied', route: request.routeOptions.url })
      return reply
        .code(401)
        .header('www-authenticate', challenges)
        .send({ error: 'this needs the token in DESKMIRROR_HTTP_TOKEN' })
    }
    if (isCrossSite(request)) return reply.code(403).send({ error: 'requests from other sites are refused' })
  }
}

/** For routes that require a token when none is configured. */
export const disabledHook: RequestHook = async (_, reply) =>
  reply.code(403).send({ error: 'this is off: DESKMIRROR_HTTP_TOKEN (http_token in deskmirror.yaml) turns it on' })

/**
 * For a server without a token on a loopback address. A page in a local browser can point its own host name at this
 * address and read the responses ("DNS rebinding"), but the Host header then has that name.
 */
export const localHostHook: RequestHook = async (request, reply) => {
  const { host } = request.headers
  if (host === undefined || isLocalHost(host)) return
  return reply.code(403).send({ error: 'without a token this server accepts only names of this machine' })
}

/** Whether a `Host` header is a name of this machine. */
export const isLocalHost = (host: string): boolean => isLoopback(URL.parse(`http://${host}`)?.hostname ?? '')

/** Null: there is none. */
function tokenOf(authorization = ''): string | null {
  const [scheme = '', credentials = ''] = authorization.split(' ')
  if (scheme.toLowerCase() === 'bearer') return credentials
  if (scheme.toLowerCase() !== 'basic') return null
  return Buffer.from(credentials, 'base64')
    .toString()
    .replace(/^[^:]*:/, '')
}

/** Compares in constant time. */
export function isEqualSecret(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(expected))
}

/** A browser also sends a stored password with another site's POST, but marks the request as cross-site. */
function isCrossSite({ method, headers }: FastifyRequest): boolean {
  if (method === 'GET' || method === 'HEAD') return false
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return headers.origin !== undefined && URL.parse(headers.origin)?.host !== headers.host
}

/** Slows down guessing: after some wrong tokens from an address, it has to wait, wherever it sent them. */
const allowed = 5
const windowMs: Ms = 60_000
const pauseMs: Ms = 30_000
/** More addresses than this at once are an attack, and all are slowed down. */
const maxAddresses = 1000

export type Attempts = ReturnType<typeof createAttempts>

export function createAttempts() {
  const failures = new Map<string, EpochMs[]>()
  const recent = (network: string, now: EpochMs) => (failures.get(network) ?? []).filter((at) => now - at < windowMs)
  return {
    waitMs: (address: string, now: EpochMs): Ms => {
      const network = networkOf(address)
      if (failures.size > maxAddresses && !failures.has(network)) return pauseMs
      const times = recent(network, now)
      return times.length < allowed ? 0 : Math.max(0, (times.at(-1) ?? 0) + pauseMs - now)
    },
    recordFailure: (address: string, now: EpochMs): void => {
      for (const [other, times] of failures) if (now - (times.at(-1) ?? 0) > windowMs) failures.delete(other)
      const network = networkOf(address)
      failures.set(network, [...recent(network, now), now].slice(-allowed))
    },
  }
}

export const tooManyText = (waitMs: Ms): string => `Too many wrong tokens. Try again in ${Math.ceil(waitMs / 1000)} s.`

/** A machine with IPv6 has 2^64 addresses, which begin alike. An IPv4 address stays as it is. */
function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
  if (!plain.includes(':')) return plain
  const [head = '', tail = ''] = plain.split('::')
  const [first, last] = [head.split(':').filter(Boolean), tail.split(':').filter(Boolean)]
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0')
  return [...first, ...zeros, ...last].slice(0, 4).join(':')
}
