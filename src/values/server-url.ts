/** Server addresses that may contain a password: parsed strictly, so that no part of it is taken for a host or a path. */

type ServerUrlResult = { readonly ok: true; readonly href: string } | { readonly ok: false; readonly why: string }

const encodingHint = 'in a password write / as %2F, @ as %40, # as %23, ? as %3F and % as %25'

/** `why` continues a sentence about the address and repeats nothing of it. `schemes`: without the colon. */
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

/** Host, port and database for display, of a URL that `parseServerUrl` accepted. */
export function serverDisplayName(href: string): string {
  const { protocol, hostname, port, pathname } = new URL(href)
  // `user:1234` without a host looks like a host and its port.
  const isCertain = href.includes('@') || pathname.length > 1 || /^(localhost|[\d.]+|\[.*)$/.test(hostname)
  const path = /^\/[^/]*$/.test(pathname) ? pathname : ''
  return `${protocol}//${hostname}${port !== '' && isCertain ? `:${port}` : ''}${path}`
}

/** Every form in which a password of the address could be printed. */
export function passwordsInUrl(text: string): readonly string[] {
  const url = URL.parse(text)
  if (url === null) return []
  const inQuery = [...url.search.matchAll(/[?&](?:ssl)?password=([^&]*)/g)].map(([, value = '']) => value)
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
