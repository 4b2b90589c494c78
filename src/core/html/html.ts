/**
 * HTML as a tagged template: every value is escaped by the place where it stands, and a template whose values could do
 * harm in spite of that is refused (`places.ts`).
 */
import { escapeHtml } from './escape.ts'
import { type Place, placesOf } from './places.ts'

export type Html = { readonly html: string }

/** An attribute, or nothing. */
export type Attribute = { readonly attribute: string }

/** What was made here. JSON in a database can have the same shape, and is not markup for that. */
const made = new WeakSet<object>()

function mark<T extends Html | Attribute>(value: T): T {
  made.add(value)
  return value
}

export type Value = string | number | null | Html | Attribute | readonly (string | Html)[]

export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  const places = placesOf(parts)
  const written = values.map((value, index) => write(value, places[index] ?? 'text'))
  return mark({ html: parts.map((part, index) => part + (written[index] ?? '')).join('') })
}

export const nothing: Html = mark({ html: '' })

/** Markup of our own that no template can hold, such as the content of a style element. Never a foreign text. */
export function trusted(markup: string): Html {
  return mark({ html: markup })
}

/** The attribute with this value; `true`: without a value; `false` or null: not at all. */
export function attribute(name: string, value: string | number | boolean | null): Attribute {
  if (!/^(aria-|data-)?[a-z]+(-[a-z]+)*$/.test(name) || /^(on|style|srcdoc|href|src|action)/.test(name))
    throw new Error(`${name} is an attribute that only a template may write`)
  if (value === null || value === false) return mark({ attribute: '' })
  return mark({ attribute: value === true ? name : `${name}="${escapeHtml(String(value))}"` })
}

function write(value: Value, place: Place): string {
  if (place === 'attributes') return writeAttribute(value)
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string') return escapeHtml(place === 'link' ? toSafeLink(value) : value)
  if (place !== 'text') throw new Error('an attribute holds text only')
  if (Array.isArray(value)) return value.map((item) => write(item, 'text')).join('')
  if (made.has(value) && 'html' in value) return value.html
  throw new Error('a value is a text, or markup that was made here')
}

function writeAttribute(value: Value): string {
  if (typeof value === 'object' && value !== null && made.has(value) && 'attribute' in value) return value.attribute
  throw new Error('only attribute() may stand within a tag')
}

/** Paths of this server and web pages. Anything else could run a script. */
function toSafeLink(address: string): string {
  return /^(\/(?![/\\])|[?#]|https?:\/\/)/i.test(address) ? address : '#'
}
