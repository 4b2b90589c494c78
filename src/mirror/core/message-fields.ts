/** The documented fields of messages. Their columns store them; only the rest is stored as JSON. */
import type { MirrorRow } from '../../../schema/row.ts'
import { type Json, type JsonObject, stringifyJson } from '../../values/json.ts'
import { isNormalizedTime, parseTime, rfc3339 } from '../../values/time.ts'

/** By the service's name: the column, and the kind of value that it stores exactly. */
export const messageFields = {
  id: ['id', 'integer'],
  conversationId: ['conversation_id', 'text'],
  senderType: ['sender_type', 'text'],
  kind: ['kind', 'text'],
  content: ['content', 'text'],
  senderDisplayName: ['sender_display_name', 'text'],
  createdAt: ['created_at', 'time'],
} as const

type FieldName = keyof typeof messageFields

const fieldNames = Object.keys(messageFields) as readonly FieldName[]

/**
 * The JSON text of what the columns do not hold of a message: undocumented fields, nulls, and
 * values that a column does not store exactly. A list of the whole message if a column holds
 * something that the message does not have. The view `messages` rebuilds the message from it.
 */
export function fieldsNotInColumns(item: JsonObject, columns: MirrorRow['columns']): string {
  let held = 0
  for (const field of fieldNames) {
    if (isInColumn(item, field, columns)) held++
    else if (
      field === 'id' ||
      (!Object.hasOwn(item, field) && columns[messageFields[field][0]] != null)
    )
      return `[${stringifyJson(item)}]`
  }
  const names = Object.keys(item)
  if (names.length === held) return '{}'
  const remaining = names.filter(
    (name) => !Object.hasOwn(messageFields, name) || !isInColumn(item, name as FieldName, columns),
  )
  return stringifyJson(Object.fromEntries(remaining.map((name) => [name, item[name] as Json])))
}

function isInColumn(item: JsonObject, field: FieldName, columns: MirrorRow['columns']): boolean {
  const [column, kind] = messageFields[field]
  const value = item[field]
  return (
    value !== undefined &&
    value === columns[column] &&
    Object.hasOwn(item, field) &&
    isExact[kind](value)
  )
}

const isExact: Readonly<Record<'integer' | 'text' | 'time', (value: Json) => boolean>> = {
  integer: (value) =>
    typeof value === 'bigint' ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value),
  // Neither NUL, nor half of a surrogate pair, nor the character that stands for those.
  text: (value) =>
    typeof value === 'string' &&
    value.isWellFormed() &&
    !value.includes('\0') &&
    !value.includes('\u241b'),
  time: (value) => typeof value === 'string' && (isNormalizedTime(value) || isExactTime(value)),
}

/** 29 February. */
function isExactTime(text: string): boolean {
  const at = parseTime(text)
  return at !== undefined && /^[12]/.test(text) && rfc3339(at) === text
}

/**
 * In lower case. Where a message matters only if the team did not write it, an unknown sender
 * counts as a visitor.
 */
export const teamSenderTypes = [
  ...['agent', 'human_agent', 'ai', 'ai_agent', 'assistant', 'bot'],
  ...['system', 'automation', 'operator', 'team', 'workflow'],
] as const

const visitorPattern = /^(visitor|customer|user|end_?user|contact|guest|lead|client)$/

/** Which side wrote a message, by its sender type, of which only `agent` is documented. */
export function toMessageSide(senderType: unknown): 'team' | 'visitor' | 'unknown' {
  const name = String(senderType ?? '').toLowerCase()
  if (teamSenderTypes.some((type) => type === name)) return 'team'
  return visitorPattern.test(name) ? 'visitor' : 'unknown'
}
