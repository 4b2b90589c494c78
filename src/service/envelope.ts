/** The envelope of a body, and its rows. Nothing trusts the body's shape, and nothing throws. */
import { asJsonObject, type Json, type JsonObject, tryParseJson } from '../values/json.ts'
import type { ListItems } from './core/api-request.ts'
import { type DroppedRow, droppedHeadBytes, type RowBatch } from './row-splitter.ts'

export type Envelope = {
  /** undefined if the body has none. */
  readonly data: Json | undefined
  readonly error: ErrorBody | null
  /** The failure that the body reports, beside or inside `data`; null = none. */
  readonly failureText: string | null
  readonly requestId: string | null
}

export type ErrorBody = {
  readonly code: string | null
  readonly message: string | null
  readonly status: number | null
  /** The offending fields, in the service's spelling. */
  readonly fields: readonly string[]
}

/** null if the text is not a JSON object. */
export function parseEnvelope(text: string): Envelope | null {
  const body = asJsonObject(tryParseJson(text))
  if (body === null) return null
  const failureText = findFailureText(body) ?? findFailureText(asJsonObject(body.data))
  return { data: body.data, error: toError(body), failureText, requestId: asText(body.requestId) }
}

/** Names under which responses report success or failure. */
const successFlags = ['ok', 'success', 'succeeded', 'successful'] as const
const failureFlags = ['error', 'errors', 'failed', 'failure'] as const

function findFailureText(body: JsonObject | null): string | null {
  if (body === null) return null
  const falseFlag = successFlags.find(
    (name) => body[name] === false || body[name] === 'false' || body[name] === 0,
  )
  const failureFlag = failureFlags.find((name) => isErrorValue(body[name]))
  const hasFailedStatus =
    typeof body.status === 'string' && /^(?:error|fail|failed|failure|rejected)$/i.test(body.status)
  if (falseFlag === undefined && failureFlag === undefined && !hasFailedStatus) return null
  const what =
    falseFlag === undefined ? (failureFlag ?? `status ${body.status}`) : `${falseFlag} is false`
  return (
    errorText(failureFlag === undefined ? undefined : body[failureFlag]) ??
    asText(body.message) ??
    what
  )
}

/** The text of an error, which may be a text, an object or a list of them. */
function errorText(error: Json | undefined): string | null {
  const first = Array.isArray(error) ? error[0] : error
  return asText(first) ?? asText(asJsonObject(first)?.message) ?? asText(asJsonObject(first)?.code)
}

function isErrorValue(value: Json | undefined): boolean {
  if (value === undefined || value === null || value === false || value === '' || value === 0)
    return false
  return typeof value !== 'object' || !Array.isArray(value) || value.length > 0
}

export const parseBareBody = (text: string): Json => tryParseJson(text) ?? text.trim()

function toError(body: JsonObject): ErrorBody | null {
  const error = body.error
  if (typeof error === 'string') return { code: null, message: error, status: null, fields: [] }
  const from = asJsonObject(error)
  if (from === null) return null
  const issues =
    asJsonObject(from.context)?.issues ??
    asJsonObject(body.context)?.issues ??
    from.issues ??
    from.details
  return {
    code: asText(from.code),
    message: asText(from.message),
    status: typeof from.status === 'number' ? from.status : null,
    fields: [...new Set(issueFields(issues))].slice(0, 50),
  }
}

/** The service does not document an issue's shape; these are the shapes that validators produce. */
function issueFields(issues: Json | undefined): string[] {
  if (Array.isArray(issues)) return issues.flatMap(fieldsOfOneIssue)
  if (typeof issues === 'string') return fieldsOfOneIssue(issues)
  const byField = asJsonObject(issues)
  return byField === null ? [] : Object.keys(byField).map(fieldName)
}

const fieldKeys = [
  'path',
  'field',
  'param',
  'parameter',
  'property',
  'instancePath',
  'pointer',
  'name',
  'key',
  'loc',
]

function fieldsOfOneIssue(issue: Json): string[] {
  if (typeof issue === 'string') return [fieldName(issue)].filter((field) => field !== '')
  if (Array.isArray(issue)) return [fieldPath(issue)].filter((field) => field !== '')
  const from = asJsonObject(issue)
  if (from === null) return []
  const { missingProperty, additionalProperty } = asJsonObject(from.params) ?? {}
  const listed = [from.keys, missingProperty, additionalProperty]
    .flat()
    .filter((name) => typeof name === 'string')
  const paths = fieldKeys.map((key) => from[key])
  const named = paths.map((path) => (Array.isArray(path) ? fieldPath(path) : fieldName(path)))
  const first = named.find((field) => field !== '')
  return first === undefined ? listed : [first, ...listed]
}

/** `content`, `body.content`, `/content`, `"content" is required`, … → `content`. */
function fieldName(text: Json | undefined): string {
  if (typeof text !== 'string' || text.length > 1000) return ''
  const quoted = /["'`]([\w$.[\]-]+)["'`]/.exec(text)?.[1]
  const word = /^[\w$.[\]/-]+/.exec(text.trim())?.[0]
  return fieldPath((quoted ?? word ?? '').split(/[./]/).filter((part) => part !== ''))
}

function fieldPath(parts: readonly Json[]): string {
  const names = parts
    .filter((part) => typeof part === 'string' || typeof part === 'number')
    .map(String)
  const requestPart = /^(body|query|querystring|params|path|headers|#)$/i
  return (names.length > 1 && requestPart.test(names[0] ?? '') ? names.slice(1) : names).join('.')
}

function asText(value: Json | undefined): string | null {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  return typeof value === 'string' && value !== '' ? value : null
}

/** `data` with its list put back, or beside it if it is large. Null: the rows are not JSON. */
export function attachItems(
  data: Json,
  batches: readonly RowBatch[] | null,
): { data: Json; items?: ListItems } | null {
  if (batches === null || batches.length === 0) return { data }
  const [batch] = batches
  if (batches.length > 1 || batch === undefined || batch.dropped.size > 0) {
    const items = lazyItems(batches)
    return items && { data: { hasMore: asJsonObject(data)?.hasMore ?? false }, items }
  }
  const items = parseBatch(batch)
  return items && { data: Array.isArray(data) ? items : { ...asJsonObject(data), items } }
}

/** The same if single rows are not JSON: without those, each of which is rejected. */
export function attachReadableItems(data: Json, batches: readonly RowBatch[] | null) {
  return attachItems(data, batches?.map(dropUnreadableRows) ?? null)
}

function dropUnreadableRows(batch: RowBatch): RowBatch {
  if (parseBatch(batch) !== null) return batch
  const dropped = new Map<number, DroppedRow>(batch.dropped)
  const rows: string[] = []
  let start = 1
  for (const [i, end] of batch.rowEnds.entries()) {
    const bytes = batch.bytes.subarray(start, end)
    start = end + 1
    const text = decodeUtf8(bytes)
    const isReadable = text !== null && tryParseJson(text) !== undefined
    if (!isReadable)
      dropped.set(i, { head: bytes.subarray(0, droppedHeadBytes), why: 'it is not JSON in UTF-8' })
    rows.push(isReadable ? text : 'null')
  }
  return { bytes: Buffer.from(`[${rows.join()}]`), rowEnds: [], dropped }
}

/** Null: the rows are not JSON. */
function lazyItems(batches: readonly RowBatch[]): ListItems | null {
  let count = 0
  for (const batch of batches) {
    const items = parseBatch(batch)
    if (items === null) return null
    count += items.length
  }
  return { count, batches: () => batches.values().map(buildBatch) }
}

/** Null: not a list. */
export function toItems<Item extends Json>(list: Item | undefined): ListItems<Item> | null {
  if (!Array.isArray(list)) return null
  const items: readonly Item[] = list
  return { count: items.length, batches: () => [{ items, rejectedRows: [] }] }
}

function parseBatch({ bytes }: RowBatch): readonly Json[] | null {
  const text = decodeUtf8(bytes)
  const items = text === null ? undefined : tryParseJson(text)
  return Array.isArray(items) ? items : null
}

function buildBatch(batch: RowBatch) {
  const items = parseBatch(batch) ?? []
  if (batch.dropped.size === 0) return { items, rejectedRows: [] }
  const rejectedRows = [...batch.dropped.values()].map(({ head, why }) => ({
    id: findRowId(head),
    why,
  }))
  return { items: items.filter((_, i) => !batch.dropped.has(i)), rejectedRows }
}

/** The id among the first members of a truncated row; null if no complete member has it. */
function findRowId(head: Buffer): string | null {
  const text = head.toString('utf8')
  const ends = memberEnds(text).reverse()
  const parsed = ends.values().map((end) => asJsonObject(tryParseJson(`${text.slice(0, end)}}`)))
  const fields = parsed.find((found) => found !== null)
  const idFields = Object.entries(fields ?? {}).filter(
    ([name]) => /id$/i.test(name) && !/project/i.test(name),
  )
  const [, id] = idFields.find(([name]) => name === 'id') ?? idFields[0] ?? []
  return typeof id === 'string' || typeof id === 'number' || typeof id === 'bigint'
    ? String(id).slice(0, 100)
    : null
}

/** Indexes at which the first members of the outer object end, at most twenty. */
function memberEnds(text: string): number[] {
  const found: number[] = []
  let level = 0
  let inString = false
  for (let i = 0; i < text.length && found.length < 20; i++) {
    const letter = text[i] ?? ''
    if (letter === '\\') i += 1
    else if (letter === '"') inString = !inString
    else if (!inString && '[{'.includes(letter)) level += 1
    else if (!inString && ']}'.includes(letter)) level -= 1
    else if (!inString && letter === ',' && level === 1) found.push(i)
  }
  return found
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

/** Null: not UTF-8. Strict, because a replaced character would be a change that no one notices. */
export function decodeUtf8(bytes: Buffer): string | null {
  try {
    return strictUtf8.decode(bytes)
  } catch {
    return null
  }
}
