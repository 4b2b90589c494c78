/**
 * The ids in a webhook delivery: the rows that it may be about. Event types and payloads are undocumented, so field names
 * are only hints, and nothing else of the payload is used.
 */

import { type ListStreamName, listStreamNames, streamSpecs } from '../../../schema/stream-specs.ts'
import { uuidPattern } from '../../service/core/path-segment.ts'
import type { Json } from '../../values/json.ts'
import { tryParseJson } from '../../values/json.ts'

/** `table` null: the payload does not show it. */
type WebhookReference = { readonly id: string; readonly table: ListStreamName | null }

/** A row of the mirror: its id as it is stored, and its table. */
export type MirroredRow = { readonly id: string; readonly table: ListStreamName }

/** `why`: the reason if there are no references. */
type WebhookContent = { readonly references: readonly WebhookReference[]; readonly why: string | null }

/** For more ids than this, syncing the lists costs fewer requests. */
export const maxReferences = 20

/** Never throws. `body`: the delivery as text. */
export function parseWebhook(body: string): WebhookContent {
  const payload = tryParseJson(body)
  if (payload === undefined) return { references: [], why: 'it is not JSON' }
  const references = findReferences(payload)
  if (references.length > maxReferences) return { references: [], why: `it contains more than ${maxReferences} ids` }
  return { references, why: references.length === 0 ? 'it contains no id' : null }
}

type NodeTable = ListStreamName | 'projects' | null
/** `parentTable`: the table that the enclosing object refers to. */
type JsonNode = { readonly value: Json; readonly name: string; readonly parentTable: NodeTable }

/** At most one more than `maxReferences`. Iterative, as a payload may be nested deeper than the call stack allows. */
function findReferences(payload: Json): WebhookReference[] {
  const found = new Map<string, WebhookReference>()
  const add = (id: string, table: NodeTable) => {
    if (table === 'projects') return
    const known = found.get(id.toLowerCase())
    if (known === undefined || known.table === null) found.set(id.toLowerCase(), { id: known?.id ?? id, table })
  }
  const pendingNodes: JsonNode[] = [{ value: payload, name: '', parentTable: null }]
  for (let node = pendingNodes.pop(); node !== undefined && found.size <= maxReferences; node = pendingNodes.pop()) {
    const { value, name } = node
    const table = tableOfNode(node)
    if (typeof value === 'object' && value !== null)
      for (const child of childNodes(value, table)) pendingNodes.push(child)
    if (uuidPattern.test(name)) add(name, node.parentTable)
    if (isRowId(value, table, name)) add(String(value), table)
  }
  return [...found.values()]
}

/** In reverse order, because they are taken from the end. */
function childNodes(value: Exclude<Json, string | number | bigint | boolean | null>, table: NodeTable): JsonNode[] {
  if (Array.isArray(value)) return value.map((item: Json) => ({ value: item, name: '', parentTable: table })).reverse()
  const fields = Object.entries(value)
  const childTable = table ?? tableOfEventType(fields)
  // `{"type": "call.ended", "id": …}`: that id may be the event's own.
  const parentTableOf = (inner: Json) => (typeof inner === 'object' ? childTable : table)
  return fields.map(([name, inner]) => ({ value: inner, name, parentTable: parentTableOf(inner) })).reverse()
}

/** If ids are not documented as UUIDs, any value in a field named `…id` counts. */
function isRowId(value: Json, table: NodeTable, name: string): boolean {
  if (typeof value === 'string' && uuidPattern.test(value)) return true
  if (table === null || table === 'projects' || streamSpecs[table].hasUuids) return false
  if (!/id$/i.test(name) || !['string', 'number', 'bigint'].includes(typeof value)) return false
  return /^[\w-]{1,64}$/.test(String(value))
}

/** By the names of the streams, in the plural and in the singular. */
const tableOfNoun: ReadonlyMap<string, ListStreamName> = new Map(
  listStreamNames.flatMap((name) => [[name, name] as const, [streamSpecs[name].singular, name] as const]),
)

/** By the end of its name (`conversationId`, `last_visitor`, `CallIDs`), or by its parent if the name is neutral (`id`, `data`). */
function tableOfNode({ name, parentTable }: JsonNode): NodeTable {
  const plain = name.replaceAll(/[_-]/g, '').toLowerCase()
  const stem = plain.replace(/(?:uu|gu)?ids?$/, '')
  if (/projects?$/.test(stem)) return 'projects'
  for (const [noun, table] of tableOfNoun) if (stem.endsWith(noun)) return table
  return neutralNames.has(plain) || uuidPattern.test(name) ? parentTable : null
}

/** The empty name: an item of a list, or the payload itself. */
const neutralNames = new Set([
  '',
  ...'id ids uuid data object attributes item items payload resource record entity current previous'.split(' '),
  ...'new old before after body event result results row rows'.split(' '),
])

const eventTypeNames = new Set('type event eventtype eventname topic kind object resource objecttype'.split(' '))

/** The table that an event type names: `conversation.updated`. */
function tableOfEventType(fields: readonly (readonly [string, Json])[]): NodeTable {
  for (const [name, value] of fields) {
    if (typeof value !== 'string' || !eventTypeNames.has(name.replaceAll(/[_-]/g, '').toLowerCase())) continue
    const words = value.match(/[a-z]+/gi) ?? []
    const noun = words.map((word) => word.toLowerCase()).find((word) => tableOfNoun.has(word))
    if (noun !== undefined) return tableOfNoun.get(noun) ?? null
  }
  return null
}
