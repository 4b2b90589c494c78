/** Which addresses the service may have: https only, except on this machine, so that a key is never sent unencrypted. */
import { trimEnd } from './trim.ts'

type BaseUrlResult = { readonly ok: true; readonly url: URL } | { readonly ok: false; readonly why: string }

/**
 * Parses a base URL. A path prefix (`https://api.example.com/v1`) is allowed; a trailing slash is removed. `why` never
 * repeats the address, because it may contain a password.
 */
export function parseBaseUrl(text: string): BaseUrlResult {
  if (!URL.canParse(text)) return refuseUrl('is not an absolute URL; write it as https://host/path')
  const url = new URL(text)
  // A `/` in a password ends the host, so the `@` after it is parsed as part of the path.
  if (url.username !== '' || url.password !== '' || text.includes('@'))
    return refuseUrl('contains a user name or password; set the key separately')
  if (/svc_[a-z]+_/i.test(text)) return refuseUrl('contains an API key; set the key separately')
  if (url.search !== '' || text.includes('?')) return refuseUrl('contains a query; only a host and a path are allowed')
  if (url.hash !== '' || text.includes('#')) return refuseUrl('contains a fragment; only a host and a path are allowed')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return refuseUrl('does not start with https://')
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    return refuseUrl('would send the key unencrypted; http:// is only for loopback addresses, use https://')
  }
  url.pathname = trimEnd(url.pathname, '/')
  return { ok: true, url }
}

/**
 * Candidates for the address of the widget's operations if none is configured, likeliest first. The documentation does not
 * relate it to the base URL; but the base URL ends with a version, and the widget's paths begin with one.
 */
export function candidateWidgetUrls(base: URL): readonly URL[] {
  const path = trimEnd(base.pathname, '/')
  const paths = new Set([path.replace(/\/v\d[^/]*$/i, ''), '', path])
  return [...paths].map((prefix) => new URL(`${base.origin}${prefix}`))
}

/** The host is this machine: `localhost`, 127.0.0.0/8 or `[::1]`, as `URL` normalizes them. */
export function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/\.$/, '')
  return host === 'localhost' || host === '[::1]' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
}

function refuseUrl(why: string): BaseUrlResult {
  return { ok: false, why }
}
