/** A mistake in a write-back request: its field, why it is one, and the value found. Pure. */

/** Options of an import that let such rows through: a person who knows better may use them. */
export type ImportOverride = 'ignore-columns' | 'allow-duplicates' | 'encoding'

export type RequestMistake = {
  /** The field's or the column's name; null if it concerns the whole line. */
  readonly field: string | null
  /** The same text for every value, so that equal mistakes can be counted. */
  readonly why: string
  /** For a person, shortened; null if there is none or it says nothing. */
  readonly found: string | null
  readonly override: ImportOverride | null
}

const maxFoundLength = 60

export function toMistake(
  field: string | null,
  why: string,
  found?: unknown,
  override: ImportOverride | null = null,
): RequestMistake {
  return { field, why, found: describeFound(found), override }
}

/** Without the value. */
export function mistakeText({ field, why }: Pick<RequestMistake, 'field' | 'why'>): string {
  return field === null ? why : `${field}: ${why}`
}

function describeFound(value: unknown): string | null {
  if (value == null) return null
  const text = typeof value === 'string' ? value : typeof value === 'object' ? toJson(value) : String(value)
  if (text.trim() === '') return null
  const characters = [...text.slice(0, 2 * maxFoundLength)]
  return characters.length > maxFoundLength ? `${characters.slice(0, maxFoundLength).join('')}…` : text
}

function toJson(value: object): string {
  try {
    return JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? String(member) : member))
  } catch {
    // It is nested hundreds of thousands of times.
    return Array.isArray(value) ? '[…]' : '{…}'
  }
}
