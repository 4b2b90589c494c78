/**
 * What a webhook delivery may be about: the ids in it. Kinds of event and shapes of payload are documented nowhere, so
 * names are only taken for what they suggest, and nothing else of the payload is used.
 */
import { readJson } from './json.ts'
import type { Json } from './row.ts'

/** The tables whose rows can be read by their ids. */
export type HintedKind = 'conversations' | 'visitors' | 'calls'

/** `kind` null: its name does not tell. */
export type HintedId = { readonly id: string; readonly kind: HintedKind | null }

/** No ids: `why` says whether there were none, too many, or no JSON. */
export type Hint = { readonly ids: readonly HintedId[]; readonly why: string | null }

/** Whoever sends more of them at once is cheaper to follow by the lists. */
export const mostIds = 20

/** Never throws. `body`: the delivery as text. */
export function readHint(body: string): Hint {
  const payload = readJson(body)
  if (payload === undefined) return { ids: [], why: 'it is no JSON' }
  const ids = idsIn(payload)
  if (ids.length > mostIds) return { ids: [], why: `it holds more than ${mostIds} ids` }
  return { ids, why: ids.length === 0 ? 'it holds no id' : null }
}

type Kind = HintedKind | 'projects' | null
/** `around`: what the object speaks of that the value stands in. */
type Place = { readonly value: Json; readonly name: string; readonly around: Kind }

/** One more than `mostIds` at most. A payload may be nested deeper than a stack of calls. */
function idsIn(payload: Json): HintedId[] {
  const found = new Map<string, HintedId>()
  const add = (id: string, kind: Kind) => {
    if (kind === 'projects') return
    const known = found.get(id.toLowerCase())
    if (known === undefined || known.kind === null) found.set(id.toLowerCase(), { id: known?.id ?? id, kind })
  }
  const left: Place[] = [{ value: payload, name: '', around: null }]
  for (let place = left.pop(); place !== undefined && found.size <= mostIds; place = left.pop()) {
    const { value, name } = place
    const kind = kindOf(place)
    if (typeof value === 'object' && value !== null) for (const inner of placesIn(value, kind)) left.push(inner)
    if (uuid.test(name)) add(name, place.around)
    if (isId(value, kind, name)) add(String(value), kind)
  }
  return [...found.values()]
}

/** Last first, as they are taken from the end. */
function placesIn(value: Exclude<Json, string | number | bigint | boolean | null>, kind: Kind): Place[] {
  if (Array.isArray(value)) return value.map((item: Json) => ({ value: item, name: '', around: kind })).reverse()
  const fields = Object.entries(value)
  const topic = kind ?? topicOf(fields)
  // `{"type": "call.ended", "id": …}`: that id is the event's own as likely as the call's.
  const around = (inner: Json) => (typeof inner === 'object' ? topic : kind)
  return fields.map(([name, inner]) => ({ value: inner, name, around: around(inner) })).reverse()
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Ids of calls are not documented as UUIDs: there, what is named an id is one. */
function isId(value: Json, kind: Kind, name: string): boolean {
  if (typeof value === 'string' && uuid.test(value)) return true
  if (kind !== 'calls' || !/id$/i.test(name) || !['string', 'number', 'bigint'].includes(typeof value)) return false
  return /^[\w-]{1,64}$/.test(String(value))
}

/** By the end of its name (`conversationId`, `last_visitor`, `CallIDs`), or by what it stands in where it is only `id` or `data`. */
function kindOf({ name, around }: Place): Kind {
  const plain = name.replaceAll(/[_-]/g, '').toLowerCase()
  const [, thing] = /(conversation|visitor|call|project)s?(?:(?:uu|gu)?ids?)?$/.exec(plain) ?? []
  if (thing !== undefined) return `${thing}s` as Kind
  return neutral.has(plain) || uuid.test(name) ? around : null
}

/** The empty one: an item of a list, or the payload itself. */
const neutral = new Set([
  '',
  ...'id ids uuid data object attributes item items payload resource record entity current previous'.split(' '),
  ...'new old before after body event result results row rows'.split(' '),
])

const topics = new Set('type event eventtype eventname topic kind object resource objecttype'.split(' '))

/** `conversation.updated`, as the type of an event. */
function topicOf(fields: readonly (readonly [string, Json])[]): Kind {
  for (const [name, value] of fields) {
    if (typeof value !== 'string' || !topics.has(name.replaceAll(/[_-]/g, '').toLowerCase())) continue
    const [, thing] = /(?:^|[^a-z])(conversation|visitor|call)s?(?![a-z])/i.exec(value) ?? []
    if (thing !== undefined) return `${thing.toLowerCase()}s` as Kind
  }
  return null
}
