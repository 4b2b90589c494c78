/** Access control: a token if one is set, and no requests from other sites' pages. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '../log.ts'
import type { Secret } from '../values/secret.ts'
import { isLoopback } from '../values/server-address.ts'
import type { EpochMs, Ms } from '../values/time.ts'
import { logRefusal } from './refusal-log.ts'

type RequestHook = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

const challenges = ['Bearer realm="deskmirror"', 'Basic realm="deskmirror", charset="UTF-8"']

/**
 * Admits requests with one of the tokens: as `Bearer`, or as the password of `Basic`, which
 * browsers prompt for.
 */
export function createTokenHook(
  tokens: readonly Secret[],
  attempts: Attempts,
  log: Logger,
): RequestHook {
  return async (request, reply) => {
    const { isRight, waitMs } = judgeToken(request, tokens, attempts)
    if (waitMs > 0)
      return reply
        .code(429)
        .header('retry-after', Math.ceil(waitMs / 1000))
        .send({ error: tooManyText(waitMs) })
    if (!isRight) {
      logRefusal(log, { event: 'http.denied', route: request.routeOptions.url })
      return reply
        .code(401)
        .header('www-authenticate', challenges)
        .send({ error: 'this needs the token in DESKMIRROR_HTTP_TOKEN' })
    }
    if (isCrossSite(request))
      return reply.code(403).send({ error: 'requests from other sites are refused' })
  }
}

/**
 * Whether the request has one of the tokens. A wrong one is counted; `waitMs`: how long its address
 * has to wait.
 */
export function judgeToken(
  { headers, ip }: FastifyRequest,
  tokens: readonly Secret[],
  attempts: Attempts,
) {
  const given = tokenOf(headers.authorization)
  const isRight = given !== null && tokens.some((token) => isEqualSecret(given, token.reveal()))
  return { isRight, waitMs: isRight || given === null ? 0 : attempts.recordWrong(ip, Date.now()) }
}

/** For routes that require a token when none is configured. */
export const disabledHook: RequestHook = async (_, reply) =>
  reply.code(403).send({
    error: 'this is off: DESKMIRROR_HTTP_TOKEN (http_token in deskmirror.yaml) turns it on',
  })

/**
 * For a server without a token on a loopback address. A page in a local browser can point its own
 * host name at this address and read the responses ("DNS rebinding"), but the Host header then has
 * that name.
 */
export const localHostHook: RequestHook = async (request, reply) => {
  const { host } = request.headers
  if (host === undefined || isLocalHost(host)) return
  return reply
    .code(403)
    .send({ error: 'without a token this server accepts only names of this machine' })
}

export const isLocalHost = (host: string): boolean =>
  isLoopback(URL.parse(`http://${host}`)?.hostname ?? '')

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

/**
 * A browser also sends a stored password with another site's POST, but marks the request as
 * cross-site.
 */
function isCrossSite({ method, headers }: FastifyRequest): boolean {
  if (method === 'GET' || method === 'HEAD') return false
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return headers.origin !== undefined && URL.parse(headers.origin)?.host !== headers.host
}

/**
 * After some wrong tokens from an address, the next wrong ones are refused without being counted or
 * logged, wherever they are sent. A right one is never refused: behind a proxy all clients may have
 * one address, and whoever sends wrong ones would lock the others out. So the limit is asked only
 * after the token was compared, and what keeps a token from being guessed is its length.
 */
const allowed = 5
const windowMs: Ms = 60_000
const pauseMs: Ms = 30_000
/** More addresses than this at once are an attack, and all are slowed down. */
const maxAddresses = 1000

export type Attempts = ReturnType<typeof createAttempts>

export function createAttempts() {
  const failures = new Map<string, EpochMs[]>()
  const recent = (network: string, now: EpochMs) =>
    (failures.get(network) ?? []).filter((at) => now - at < windowMs)
  const waitOf = (network: string, now: EpochMs): Ms => {
    if (failures.size > maxAddresses && !failures.has(network)) return pauseMs
    const times = recent(network, now)
    return times.length < allowed ? 0 : Math.max(0, (times.at(-1) ?? 0) + pauseMs - now)
  }
  return {
    /**
     * A wrong token came from this address. Returns how long its wrong ones are refused; 0: not
     * yet.
     */
    recordWrong: (address: string, now: EpochMs): Ms => {
      for (const [other, times] of failures)
        if (now - (times.at(-1) ?? 0) > windowMs) failures.delete(other)
      const network = networkOf(address)
      const waitMs = waitOf(network, now)
      if (waitMs === 0) failures.set(network, [...recent(network, now), now].slice(-allowed))
      return waitMs
    },
  }
}

export const tooManyText = (waitMs: Ms): string =>
  `Too many wrong tokens. Try again in ${Math.ceil(waitMs / 1000)} s.`

/**
 * A machine with IPv6 has 2^64 addresses, which begin alike. An IPv4 address stays as it is. Some
 * proxies add the port, which differs with each connection. Whatever is no address counts as one.
 */
function networkOf(address: string): string {
  const withoutPort = address.replace(/^\[(.*)\](:\d+)?$|^([\d.]+):\d+$/, '$1$3')
  const plain = withoutPort.replace(/^::ffff:(?=\d+\.)/i, '')
  const version = isIP(plain)
  if (version !== 6) return version === 4 ? plain : ''
  const [head = '', tail = ''] = plain.split('::')
  const first = head.split(':').filter(Boolean)
  const last = tail.split(':').filter(Boolean)
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0')
  return [...first, ...zeros, ...last].slice(0, 4).join(':')
}
