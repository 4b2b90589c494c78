/**
 * What a webhook delivery may be about: the ids in it. Kinds of event and shapes of payload are documented nowhere, so
 * names are only taken for what they suggest, and nothing else of the payload is used.
 */
import { tryParseJson } from './json.ts'
import type { Json } from './row.ts'

/** The tables whose rows can be read by their ids. */
export type ReferencedTable = 'conversations' | 'visitors' | 'calls'

/** `kind` null: its name does not tell. */
export type WebhookReference = { readonly id: string; readonly table: ReferencedTable | null }

/** No ids: `why` says whether there were none, too many, or no JSON. */
export type WebhookContent = { readonly references: readonly WebhookReference[]; readonly why: string | null }

/** Whoever sends more of them at once is cheaper to follow by the lists. */
export const maxReferences = 20

/** Never throws. `body`: the delivery as text. */
export function parseWebhook(body: string): WebhookContent {
  const payload = tryParseJson(body)
  if (payload === undefined) return { references: [], why: 'it is no JSON' }
  const ids = findReferences(payload)
  if (ids.length > maxReferences) return { references: [], why: `it holds more than ${maxReferences} ids` }
  return { references: ids, why: ids.length === 0 ? 'it holds no id' : null }
}

type NodeTable = ReferencedTable | 'projects' | null
/** `around`: what the object speaks of that the value stands in. */
type JsonNode = { readonly value: Json; readonly name: string; readonly parentTable: NodeTable }

/** One more than `mostIds` at most. A payload may be nested deeper than a stack of calls. */
function findReferences(payload: Json): WebhookReference[] {
  const found = new Map<string, WebhookReference>()
  const add = (id: string, kind: NodeTable) => {
    if (kind === 'projects') return
    const known = found.get(id.toLowerCase())
    if (known === undefined || known.table === null) found.set(id.toLowerCase(), { id: known?.id ?? id, table: kind })
  }
  const pendingNodes: JsonNode[] = [{ value: payload, name: '', parentTable: null }]
  for (let node = pendingNodes.pop(); node !== undefined && found.size <= maxReferences; node = pendingNodes.pop()) {
    const { value, name } = node
    const kind = tableOfNode(node)
    if (typeof value === 'object' && value !== null)
      for (const child of childNodes(value, kind)) pendingNodes.push(child)
    if (uuid.test(name)) add(name, node.parentTable)
    if (isRowId(value, kind, name)) add(String(value), kind)
  }
  return [...found.values()]
}

/** Last first, as they are taken from the end. */
function childNodes(value: Exclude<Json, string | number | bigint | boolean | null>, kind: NodeTable): JsonNode[] {
  if (Array.isArray(value)) return value.map((item: Json) => ({ value: item, name: '', around: kind })).reverse()
  const fields = Object.entries(value)
  const childTable = kind ?? tableOfEventType(fields)
  // `{"type": "call.ended", "id": …}`: that id is the event's own as likely as the call's.
  const around = (inner: Json) => (typeof inner === 'object' ? childTable : kind)
  return fields.map(([name, inner]) => ({ value: inner, name, around: around(inner) })).reverse()
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Ids of calls are not documented as UUIDs: there, what is named an id is one. */
function isRowId(value: Json, kind: NodeTable, name: string): boolean {
  if (typeof value === 'string' && uuid.test(value)) return true
  if (kind !== 'calls' || !/id$/i.test(name) || !['string', 'number', 'bigint'].includes(typeof value)) return false
  return /^[\w-]{1,64}$/.test(String(value))
}

/** By the end of its name (`conversationId`, `last_visitor`, `CallIDs`), or by what it stands in where it is only `id` or `data`. */
function tableOfNode({ name, parentTable: around }: JsonNode): NodeTable {
  const plain = name.replaceAll(/[_-]/g, '').toLowerCase()
  const [, thing] = /(conversation|visitor|call|project)s?(?:(?:uu|gu)?ids?)?$/.exec(plain) ?? []
  if (thing !== undefined) return `${thing}s` as NodeTable
  return neutralNames.has(plain) || uuid.test(name) ? around : null
}

/** The empty one: an item of a list, or the payload itself. */
const neutralNames = new Set([
  '',
  ...'id ids uuid data object attributes item items payload resource record entity current previous'.split(' '),
  ...'new old before after body event result results row rows'.split(' '),
])

const eventTypeNames = new Set('type event eventtype eventname topic kind object resource objecttype'.split(' '))

/** `conversation.updated`, as the type of an event. */
function tableOfEventType(fields: readonly (readonly [string, Json])[]): NodeTable {
  for (const [name, value] of fields) {
    if (typeof value !== 'string' || !eventTypeNames.has(name.replaceAll(/[_-]/g, '').toLowerCase())) continue
    const [, noun] = /(?:^|[^a-z])(conversation|visitor|call)s?(?![a-z])/i.exec(value) ?? []
    if (noun !== undefined) return `${noun.toLowerCase()}s` as NodeTable
  }
  return null
}
