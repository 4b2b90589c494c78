/**
 * Where the values of a template stand, and which places no value may have. Works on the template's own text, so it is
 * checked once for each template, and a wrong one fails the first time it is used, whatever the values are.
 */

/** `link`: at the start of an address. `attributes`: within a tag, between attributes. */
export type Place = 'text' | 'attribute' | 'link' | 'attributes'

const known = new WeakMap<TemplateStringsArray, readonly Place[]>()

/** The places of a template's values. Throws if a value stands where escaping does not make it harmless. */
export function placesOf(parts: TemplateStringsArray): readonly Place[] {
  const cached = known.get(parts)
  if (cached !== undefined) return cached
  const places = findPlaces(parts)
  known.set(parts, places)
  return places
}

/** `element`: whose tag is open. `attribute`: whose value is open; `isStart`: nothing of the value has been written. */
type State =
  | { readonly within: 'text' }
  | { readonly within: 'tag'; readonly element: string }
  | { readonly within: 'value'; readonly element: string; readonly attribute: string; readonly isStart: boolean }

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

const addresses: ReadonlySet<string> = new Set(['href', 'src', 'action', 'formaction', 'poster', 'cite', 'data'])

function placeOf(state: State, part: string): Place {
  if (state.within === 'text') return 'text'
  if (state.within === 'tag') {
    if (/=\s*$/.test(part)) throw new Error(`a value needs quotes around it: ${part}`)
    if (!/\s$/.test(part)) throw new Error(`an attribute needs a space before it: ${part}`)
    return 'attributes'
  }
  const { attribute, isStart } = state
  if (/^(on|style$|srcdoc$)/.test(attribute)) throw new Error(`no value may stand in the attribute ${attribute}`)
  return isStart && addresses.has(attribute) ? 'link' : 'attribute'
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
  let [state, at] = [before, 0]
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

function step(state: State, take: (token: RegExp) => RegExpExecArray | null, part: string, at: number): State {
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
