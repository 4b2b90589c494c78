/** Addresses within this server: every value is encoded, so that a name cannot become another path. */

/** `` path`/console/p/${project}` `` */
export function path(parts: TemplateStringsArray, ...names: readonly string[]): string {
  return parts.map((part, index) => part + (names[index] === undefined ? '' : encodeSegment(names[index]))).join('')
}

/** The path with these parameters; those that are null are left out. */
export function withQuery(address: string, parameters: Readonly<Record<string, string | null>>): string {
  const set = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) if (value !== null) set.set(name, value)
  return set.size === 0 ? address : `${address}?${set}`
}

/** Dots alone would lead to another folder, also as `%2E`. Nothing has such a name, so its address may lead nowhere. */
function encodeSegment(name: string): string {
  const encoded = encodeURIComponent(name.toWellFormed())
  return /^\.+$/.test(encoded) ? encoded.replaceAll('.', '%252E') : encoded
}
