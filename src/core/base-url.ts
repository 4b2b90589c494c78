/** Which addresses the service may have: https only, except on this machine, so that a key never travels in the clear. */
import { trimEnd } from './trim.ts'
export type BaseUrlResult = { readonly ok: true; readonly url: URL } | { readonly ok: false; readonly why: string }

/**
 * Reads a base URL. A path prefix (`https://api.example.com/v1`) is allowed; a trailing slash is cut off. `why` never
 * repeats the address itself, because a refused one may carry a password.
 */
export function parseBaseUrl(text: string): BaseUrlResult {
  if (!URL.canParse(text)) return refuseUrl('is not an absolute URL; write it as https://host/path')
  const url = new URL(text)
  // Where a password holds a `/`, the `@` behind it stands in what is read as the path.
  if (url.username !== '' || url.password !== '' || text.includes('@'))
    return refuseUrl('carries a user name or password; the key goes elsewhere')
  if (/svc_[a-z]+_/i.test(text)) return refuseUrl('carries an API key; the key goes elsewhere')
  if (url.search !== '' || text.includes('?')) return refuseUrl('carries a query; only a host and a path are allowed')
  if (url.hash !== '' || text.includes('#')) return refuseUrl('carries a fragment; only a host and a path are allowed')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return refuseUrl('does not start with https://')
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    return refuseUrl('would send the key unencrypted; http:// is only for loopback addresses, use https://')
  }
  url.pathname = trimEnd(url.pathname, '/')
  return { ok: true, url }
}

/**
 * Where the widget's operations may be if nobody says, likeliest first. The service's documentation does not tell how that
 * address relates to the base URL; but the base URL has a version in its path, and the path of the widget begins with one.
 */
export function candidateWidgetUrls(base: URL): readonly URL[] {
  const path = trimEnd(base.pathname, '/')
  const paths = new Set([path.replace(/\/v\d[^/]*$/i, ''), '', path])
  return [...paths].map((prefix) => new URL(`${base.origin}${prefix}`))
}

/** Whether a URL's host names this machine: `localhost`, 127.0.0.0/8 or `[::1]`, as `URL` normalizes them. */
export function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/\.$/, '')
  return host === 'localhost' || host === '[::1]' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
}

function refuseUrl(why: string): BaseUrlResult {
  return { ok: false, why }
}
