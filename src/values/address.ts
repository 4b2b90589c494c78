/**
 * Addresses within this server: every value is encoded, so that a name cannot become another path.
 */

/** `` path`/console/p/${project}` `` */
export function path(parts: TemplateStringsArray, ...names: readonly string[]): string {
  return parts
    .map((part, index) => part + (names[index] === undefined ? '' : encodeSegment(names[index])))
    .join('')
}

/** The path with these parameters; those that are null or undefined are left out. */
export function withQuery(
  address: string,
  parameters: Readonly<Record<string, string | number | boolean | null | undefined>>,
): string {
  const set = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters))
    if (value != null) set.set(name, String(value))
  return set.size === 0 ? address : `${address}?${set}`
}

function encodeSegment(name: string): string {
  return encodeURIComponent(escapeName(name).toWellFormed())
}

/**
 * SQL can give a batch any name. Dots alone would lead to another folder, also as `%2E`, no server
 * takes a NUL, and a browser sends other line ends than a form has.
 */
export function escapeName(name: string): string {
  if (!/^\.+$|^~|\p{Cc}/u.test(name)) return name
  return `~${name.replace(/[.~]|\p{Cc}/gu, (letter) => `~${letter.charCodeAt(0).toString(16).padStart(2, '0')}`)}`
}

/** The name that a segment of a path stands for. `segment`: without percent encoding. */
export function decodeSegment(segment: string): string {
  if (!segment.startsWith('~')) return segment
  return segment
    .slice(1)
    .replace(/~([\da-f]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}
