/** Data without what customers said and who they are, for viewers to whom it is not shown. */

/** Names of fields that hold it, on whatever page. */
const personal: ReadonlySet<string> = new Set([
  ...['content', 'name', 'email', 'lastWords', 'words', 'fields', 'activity'],
  ...['visitorName', 'firstWords', 'payload', 'effect', 'differs', 'check', 'samples'],
])

export function hideMessages<T>(data: T): T {
  return hide(data) as T
}

function hide(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(hide)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, personal.has(name) ? hidden(inner) : hide(inner)]),
  )
}

function hidden(value: unknown): unknown {
  return Array.isArray(value) ? [] : null
}
