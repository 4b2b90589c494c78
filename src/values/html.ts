/**
 * HTML as a tagged template: every value is escaped by the place where it stands, and a template
 * whose values could do harm in spite of that is refused.
 */

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/**
 * Harmless as text and as the value of a quoted attribute. Control characters and those that turn
 * the direction become spaces.
 */
export function escapeHtml(text: string): string {
  return text
    .toWellFormed()
    .replace(/[^\P{Cc}\n\t]|[\u2028-\u202e\u2066-\u2069]/gu, ' ')
    .replace(/[&<>"']/g, (character) => entities[character] ?? '')
}

export type Html = { readonly html: string }

type Attribute = { readonly attribute: string }

/** What was made here. JSON in a database can have the same shape, and is not markup for that. */
const made = new WeakSet<object>()

function mark<T extends Html | Attribute>(value: T): T {
  made.add(value)
  return value
}

type Value = string | number | null | Html | Attribute | readonly (string | Html)[]

/** A line break and the indentation after it become one space: they only keep lines short. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  const { texts, places } = readTemplate(parts)
  const written = values.map((value, index) => write(value, places[index] ?? 'text'))
  return mark({ html: texts.map((text, index) => text + (written[index] ?? '')).join('') })
}

export const nothing: Html = mark({ html: '' })

/**
 * Markup of our own that no template can hold, such as the content of a style element. Never a
 * foreign text.
 */
export function trusted(markup: string): Html {
  return mark({ html: markup })
}

/** The attribute with this value; `true`: without a value; `false` or null: not at all. */
export function attribute(name: string, value: string | number | boolean | null): Attribute {
  if (
    !/^(aria-|data-)?[a-z]+(-[a-z]+)*$/.test(name) ||
    /^(on|style|srcdoc|href|src|action)/.test(name)
  )
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
  if (typeof value === 'object' && value !== null && made.has(value) && 'attribute' in value)
    return value.attribute
  throw new Error('only attribute() may stand within a tag')
}

/** Paths of this server and web pages. Anything else could run a script. */
function toSafeLink(address: string): string {
  return /^(\/(?![/\\])|[?#]|https?:\/\/)/i.test(address) ? address : '#'
}

/** `link`: at the start of an address. `attributes`: within a tag, between attributes. */
type Place = 'text' | 'attribute' | 'link' | 'attributes'

const known = new WeakMap<TemplateStringsArray, ReturnType<typeof parseTemplate>>()

function readTemplate(parts: TemplateStringsArray) {
  const template = known.get(parts) ?? parseTemplate(parts)
  known.set(parts, template)
  return template
}

/**
 * What it writes around its values, and their places. Throws if a value stands where escaping does
 * not make it harmless.
 */
function parseTemplate(parts: TemplateStringsArray) {
  const texts = parts.map((part) => part.replace(/\n +/g, ' '))
  return { texts, places: findPlaces(texts) }
}

/**
 * `element`: whose tag is open. `attribute`: whose value is open; `isStart`: nothing of the value
 * has been written.
 */
type State =
  | { readonly within: 'text' }
  | { readonly within: 'tag'; readonly element: string }
  | {
      readonly within: 'value'
      readonly element: string
      readonly attribute: string
      readonly isStart: boolean
    }

function findPlaces(parts: readonly string[]): Place[] {
  let state: State = { within: 'text' }
  const places: Place[] = []
  for (const [index, part] of parts.entries()) {
    state = afterPart(part, state)
    if (index < parts.length - 1) places.push(placeOf(state, part))
    if (state.within === 'value') state = { ...state, isStart: false }
  }
  if (state.within !== 'text') throw new Error(`a template ends within a tag: ${parts.at(-1)}`)
  return places
}

const addresses = /^(href|src|action|formaction|poster|cite|data)$/

function placeOf(state: State, part: string): Place {
  if (state.within === 'text') return 'text'
  if (state.within === 'tag') {
    if (/=\s*$/.test(part)) throw new Error(`a value needs quotes around it: ${part}`)
    if (!/\s$/.test(part)) throw new Error(`an attribute needs a space before it: ${part}`)
    return 'attributes'
  }
  const { attribute, isStart } = state
  if (/^(on|style$|srcdoc$)/.test(attribute))
    throw new Error(`no value may stand in the attribute ${attribute}`)
  return isStart && addresses.test(attribute) ? 'link' : 'attribute'
}

/** What HTML is made of, as far as a template may use it. */
const tokens = {
  text: /[^<]+|<!doctype html>|<\/[a-z][\w-]*>/y,
  openTag: /<([a-z][\w-]*)/y,
  attribute: /\s+|([a-zA-Z][\w:-]*)(="|(?=[\s/>]|$))/y,
  endOfTag: /\/?>/y,
  value: /[^"]*/y,
}

function afterPart(part: string, before: State): State {
  let state = before
  let at = 0
  const take = (token: RegExp): RegExpExecArray | null => {
    token.lastIndex = at
    const found = token.exec(part)
    if (found !== null) at = token.lastIndex
    return found
  }
  while (at < part.length) {
    const start = at
    state = step(state, take, part, at)
    if (at === start && state.within !== 'value') throw unreadable(part, at)
    if (state.within === 'value' && at < part.length && part[at] === '"') {
      at += 1
      state = { within: 'tag', element: state.element }
    }
  }
  return state
}

function step(
  state: State,
  take: (token: RegExp) => RegExpExecArray | null,
  part: string,
  at: number,
): State {
  switch (state.within) {
    case 'text': {
      if (take(tokens.text) !== null) return state
      const element = take(tokens.openTag)?.[1]
      return element === undefined ? state : { within: 'tag', element }
    }
    case 'tag': {
      if (take(tokens.endOfTag) !== null) return afterOpenTag(state.element, part, at)
      const [, attribute, opening] = take(tokens.attribute) ?? []
      const { element } = state
      return attribute !== undefined && opening === '="'
        ? { within: 'value', element, attribute, isStart: true }
        : state
    }
    case 'value':
      return take(tokens.value)?.[0] === '' ? state : { ...state, isStart: false }
  }
}

/** The content of these is not HTML, so that escaping it would not help. */
function afterOpenTag(element: string, part: string, at: number): State {
  if (element !== 'script' && element !== 'style') return { within: 'text' }
  if (part.slice(at + 1).startsWith(`</${element}>`)) return { within: 'text' }
  throw new Error(`<${element}> has no content in a template`)
}

function unreadable(part: string, at: number): Error {
  return new Error(`a template has what no template needs: ${part.slice(at, at + 40)}`)
}
