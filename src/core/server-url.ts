/** Addresses of servers that may carry a password: read strictly, so that no part of the password passes for a host or a path. */

export type ServerUrlResult =
  | { readonly ok: true; readonly href: string }
  | { readonly ok: false; readonly why: string }

const encodingHint = 'in a password write / as %2F, @ as %40, # as %23, ? as %3F and % as %25'

/** `why` goes on where the sentence about the address ends, and repeats nothing of it. `schemes`: without the colon. */
export function parseServerUrl(text: string, schemes: readonly string[]): ServerUrlResult {
  const url = /^[a-z]+:\/\//i.test(text) && !hasControlCharacters(text) ? URL.parse(text) : null
  if (
    url === null ||
    !schemes.includes(url.protocol.slice(0, -1)) ||
    isMisparsed(url) ||
    /^[^/]*\/\/[^/?#]*:([/?#]|$)/.test(text)
  ) {
    return { ok: false, why: `is not a URL that can be read: ${encodingHint}` }
  }
  return { ok: true, href: url.href }
}

/** Host, port and database, for a person. Of a URL that `serverUrl` has read. */
export function serverDisplayName(href: string): string {
  const { protocol, hostname, port, pathname } = new URL(href)
  // `user:1234` without a host reads like a host and its port.
  const certain = href.includes('@') || pathname.length > 1 || /^(localhost|[\d.]+|\[.*)$/.test(hostname)
  const path = /^\/[^/]*$/.test(pathname) ? pathname : ''
  return `${protocol}//${hostname}${port !== '' && certain ? `:${port}` : ''}${path}`
}

/** Every form in which the passwords of an address could be printed. */
export function passwordsInUrl(text: string): readonly string[] {
  const url = URL.parse(text)
  if (url === null) return []
  const inQuery = [...url.search.matchAll(/[?&](?:ssl)?password=([^&]*)/g)].map(([, value = '']) => value)
  return [...new Set([url.password, ...inQuery].flatMap((one) => [one, tryDecode(one) ?? one]))].filter(
    (one) => one !== '',
  )
}

/** A `/`, `?` or `#` of the password has ended what was read as the host; or a `%` in it stands for nothing. */
function isMisparsed({ username, password, pathname, search, hash }: URL): boolean {
  return (
    hash !== '' || `${pathname}${search}`.includes('@') || [username, password].some((it) => tryDecode(it) === null)
  )
}

function tryDecode(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** URLs are read without them, so that a password would lose them silently. */
function hasControlCharacters(text: string): boolean {
  return [...text].some((character) => character < ' ' || character === '\u007f')
}
