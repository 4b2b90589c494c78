/**
 * Which addresses the service may have: https only, except on this machine, so that a key is never
 * sent unencrypted. And those of servers, which may contain a password: parsed strictly, so that no
 * part of it is taken for a host or a path.
 */
import { trimEnd } from './format.ts'

export type ParsedAddress<Parts> =
  | (Parts & { readonly ok: true })
  /** `why` continues a sentence about the address and repeats nothing of it. */
  | { readonly ok: false; readonly why: string }

/**
 * Parses a base URL. A path prefix (`https://api.example.com/v1`) is allowed; a trailing slash is
 * removed.
 */
export function parseBaseUrl(text: string): ParsedAddress<{ readonly url: URL }> {
  if (!URL.canParse(text)) return refuseUrl('is not an absolute URL; write it as https://host/path')
  const url = new URL(text)
  // A `/` in a password ends the host, so the `@` after it is parsed as part of the path.
  if (url.username !== '' || url.password !== '' || text.includes('@'))
    return refuseUrl('contains a user name or password; set the key separately')
  if (/svc_[a-z]+_/i.test(text)) return refuseUrl('contains an API key; set the key separately')
  if (url.search !== '' || text.includes('?'))
    return refuseUrl('contains a query; only a host and a path are allowed')
  if (url.hash !== '' || text.includes('#'))
    return refuseUrl('contains a fragment; only a host and a path are allowed')
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return refuseUrl('does not start with https://')
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    return refuseUrl(
      'would send the key unencrypted; http:// is only for loopback addresses, use https://',
    )
  }
  url.pathname = trimEnd(url.pathname, '/')
  return { ok: true, url }
}

/**
 * Candidates for the address of the widget's operations if none is configured, likeliest first. The
 * documentation does not relate it to the base URL; but the base URL ends with a version, and the
 * widget's paths begin with one.
 */
export function candidateWidgetUrls(base: URL): readonly URL[] {
  const path = trimEnd(base.pathname, '/')
  const paths = new Set([path.replace(/\/v\d[^/]*$/i, ''), '', path])
  return [...paths].map((prefix) => new URL(`${base.origin}${prefix}`))
}

/** The host is this machine: `localhost`, 127.0.0.0/8 or `[::1]`, as `URL` normalizes them. */
export function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/\.$/, '')
  return (
    host === 'localhost' ||
    host === '[::1]' ||
    host === '::1' ||
    /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
  )
}

const refuseUrl = (why: string) => ({ ok: false, why }) as const

export const encodingHint =
  'in a password write / as %2F, @ as %40, # as %23, ? as %3F and % as %25'

/** `schemes`: without the colon. */
export function parseServerUrl(
  text: string,
  schemes: readonly string[],
): ParsedAddress<{ readonly href: string }> {
  const url = /^[a-z]+:\/\//i.test(text) && !hasControlCharacters(text) ? URL.parse(text) : null
  if (
    url === null ||
    !schemes.includes(url.protocol.slice(0, -1)) ||
    isMisparsed(url) ||
    /^[^/]*\/\/[^/?#]*:([/?#]|$)/.test(text)
  )
    return refuseUrl(`is not a URL that can be read: ${encodingHint}`)
  return { ok: true, href: url.href }
}

/** The parts of an address as they are written: a URL has one host, and those of a group several. */
export function splitAddress(text: string) {
  const from = text.indexOf('://') + 3
  const length = text.slice(from).search(/[/?#]/)
  const to = length < 0 ? text.length : from + length
  const authority = text.slice(from, to)
  const at = authority.lastIndexOf('@') + 1
  return {
    scheme: text.slice(0, Math.max(0, from - 3)),
    user: authority.slice(0, at),
    hosts: authority.slice(at).split(','),
    rest: text.slice(to),
  }
}

/**
 * Hosts, ports and database for display, of a URL that `parseServerUrl` accepted, or of a group of
 * servers.
 */
export function serverDisplayName(href: string): string {
  const { scheme, hosts, rest } = splitAddress(href)
  if (/[+-]/.test(scheme)) return `${scheme}://${hosts}${rest.split('?', 1)}`
  const { protocol, hostname, port, pathname } = new URL(href)
  // `user:1234` without a host looks like a host and its port.
  const isCertain =
    href.includes('@') || pathname.length > 1 || /^(localhost|[\d.]+|\[.*)$/.test(hostname)
  const path = /^\/[^/]*$/.test(pathname) ? pathname : ''
  return `${protocol}//${hostname}${port !== '' && isCertain ? `:${port}` : ''}${path}`
}

/** Every form in which a password of the address could be printed. */
export function passwordsInUrl(text: string): readonly string[] {
  const { scheme, user, hosts, rest } = splitAddress(text)
  const url = URL.parse(hosts.length > 1 ? `${scheme}://${user}${hosts[0]}${rest}` : text)
  if (url === null) return []
  const inQuery = [...url.search.matchAll(/[?&](?:ssl|sentinel_)?password=([^&]*)/g)].map(
    ([, value = '']) => value,
  )
  const passwords = [url.password, ...inQuery].flatMap((text) => [text, tryDecode(text) ?? text])
  return [...new Set(passwords)].filter((text) => text !== '')
}

/** An unescaped `/`, `?` or `#` in the password ended the host part, or a `%` begins no escape. */
function isMisparsed({ username, password, pathname, search, hash }: URL): boolean {
  const isUndecodable = [username, password].some((text) => tryDecode(text) === null)
  return hash !== '' || `${pathname}${search}`.includes('@') || isUndecodable
}

function tryDecode(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** URL parsing drops them silently, which would change a password. */
function hasControlCharacters(text: string): boolean {
  return [...text].some((character) => character < ' ' || character === '\u007f')
}
