/** What every request to the console must show before anything else: where it comes from. */
import type { FastifyRequest } from 'fastify'
import { isLoopback } from '../../values/base-url.ts'

type Headers = Pick<FastifyRequest, 'method' | 'headers'>
type Head = Headers & Pick<FastifyRequest, 'url'>

/**
 * Why a request is refused; null = it may go on. A page of another site can make a browser send requests with the
 * session, but it cannot change what the browser says about their origin.
 */
export function refusalOf(request: Head): string | null {
  const { method, headers, url } = request
  // Postgres has no text with one, so nothing is there.
  if (url.includes('%00')) return 'this address has a character that no name has'
  if (method === 'GET' || method === 'HEAD')
    return isEmbedded(request) ? 'pages of other sites may not read this' : null
  return isFromOwnPage(headers) ? null : 'this request does not come from a page of the console'
}

/** A link on another page may lead here; its images and scripts may not come from here. */
function isEmbedded({ headers }: Headers): boolean {
  const site = headers['sec-fetch-site']
  if (site === undefined || site === 'same-origin' || site === 'none') return false
  return headers['sec-fetch-mode'] !== 'navigate' || headers['sec-fetch-dest'] !== 'document'
}

/**
 * `same-site` is not enough: all ports of one host are one site. A browser on plain http of another machine sends no
 * `Sec-Fetch-Site`, but an origin. A program that sends neither has to show a token, not a cookie.
 */
function isFromOwnPage(headers: FastifyRequest['headers']): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  if (headers.origin !== undefined) return URL.parse(headers.origin)?.host === headers.host
  return headers.cookie === undefined && bearerOf(headers) !== null
}

/** The token in `Authorization: Bearer`. */
export function bearerOf(headers: FastifyRequest['headers']): string | null {
  return /^bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? null
}

/** A name that leads to this machine: another one may be that of a page which points its name here. */
export function hasLocalHost({ headers: { host } }: Pick<FastifyRequest, 'headers'>): boolean {
  return host !== undefined && isLoopback(URL.parse(`http://${host}`)?.hostname ?? '')
}
