/** Requests a widget token, and finds it in a response whose shape is not documented. */
import type { Json } from '../values/json.ts'
import { type EpochSeconds, parseTime, type Seconds } from '../values/time.ts'
import { UserError } from '../values/user-error.ts'
import type { Client } from './client.ts'
import type { ApiResponse } from './core/api-request.ts'
import { uuidPattern } from './core/path-segment.ts'

/** Below `{widget_url}`. */
export const widgetTokenPath = '/v1/widget/token'

/** What the token is for. `ttl`: its lifetime; its bounds are not documented. */
export type WidgetSession = {
  readonly visitor: { readonly email?: string; readonly name?: string; readonly company?: string }
  readonly metadata: Readonly<Record<string, string>>
  readonly ttl: Seconds
}

/**
 * One request, never a second one: after a lost response, the token expires by itself. It takes a
 * write slot, as it may count as one. Throws ApiError, and UserError (1) if no token is recognized.
 * `expiresAt`: null if the response does not say, as the granted `ttl` may differ from the requested
 * one. `answer`: the response's data, unchanged; contains the token.
 */
export async function mintToken(client: Pick<Client, 'send'>, session: WidgetSession) {
  const response = await client.send({
    method: 'POST',
    path: widgetTokenPath,
    priority: 'write',
    envelope: 'optional',
    body: session,
  })
  const token = findToken(response.data)
  if (token === null) throw unrecognizedTokenError(response)
  return { token, expiresAt: findExpiry(response), answer: response.data }
}

type ResponseField = { readonly name: string; readonly value: Json; readonly depth: number }

const tokenNames = [
  'token',
  'widgettoken',
  'accesstoken',
  'sessiontoken',
  'visitortoken',
  'clienttoken',
  'jwt',
]
/** Times as RFC 3339, in seconds or milliseconds; or lifetimes in seconds. */
const expiryNames = ['expiresat', 'expires', 'expiry', 'expiration', 'exp', 'expiresin', 'ttl']
/** Fields in which the response may repeat what we sent. */
const echoedFields = ['visitor', 'metadata']

/** A text itself; or the field that is named like a token; or the only text that looks like one. */
function findToken(data: Json): string | null {
  if (typeof data === 'string') return /^[\w.~+/=:|-]{6,}$/.test(data) ? data : null
  const named = findFieldValue(
    data,
    tokenNames,
    (value) => typeof value === 'string' && /^[\x21-\x7e]+$/.test(value),
  )
  if (typeof named === 'string') return named
  const texts = listFields(data).flatMap(({ value }) => (typeof value === 'string' ? value : []))
  const [candidate, ...others] = texts.filter(looksLikeToken)
  return others.length === 0 ? (candidate ?? null) : null
}

function looksLikeToken(text: string): boolean {
  const isOther = uuidPattern.test(text) || parseTime(text) !== undefined
  return /^[\w.~+/=|-]{16,}$/.test(text) && !isOther
}

function findExpiry({ data, serverDate }: ApiResponse): EpochSeconds | null {
  const isTime = (value: Json) => typeof value === 'number' || parseTime(value) !== undefined
  const found = findFieldValue(data, expiryNames, isTime)
  if (typeof found !== 'number') return parseTime(found) ?? null
  const at = found > 1e11 ? found / 1000 : found > 1e9 ? found : (serverDate ?? Number.NaN) + found
  return at < 253_402_300_800 ? Math.floor(at) : null
}

/** The matching field nearest to the top; among those, whose name comes first. Null = none. */
function findFieldValue(
  data: Json,
  names: readonly string[],
  isMatch: (value: Json) => boolean,
): Json {
  const rank = ({ name }: ResponseField) => names.indexOf(normalizeName(name))
  const found = listFields(data).filter((field) => rank(field) >= 0 && isMatch(field.value))
  return found.sort((a, b) => a.depth - b.depth || rank(a) - rank(b))[0]?.value ?? null
}

function listFields(value: Json, depth = 0): ResponseField[] {
  if (typeof value !== 'object' || value === null || depth === 5) return []
  const own = Object.entries(value).filter(([name]) => !echoedFields.includes(normalizeName(name)))
  const fields = own.map(([name, inner]: [string, Json]) => ({ name, value: inner, depth }))
  return [...fields, ...fields.flatMap((field) => listFields(field.value, depth + 1))]
}

/** `accessToken`, `access_token`, `access-token` are one name. */
const normalizeName = (name: string): string => name.toLowerCase().replace(/[^a-z]/g, '')

/** Shows the names of the fields only: one of the values may be the token. */
function unrecognizedTokenError({ data, status, requestId }: ApiResponse): UserError {
  const names = listFields(data).map(({ name }) => (name.length > 40 ? '…' : name))
  const shape = names.length > 0 ? `the fields ${names.slice(0, 20).join(', ')}` : 'no fields'
  return new UserError({
    what: 'no token was recognized in the response',
    why:
      `the service answered ${status} with ${shape}` +
      (requestId === null ? '' : ` (request ${requestId})`),
    next:
      'check DESKMIRROR_WIDGET_URL; if that is right, please report the names of these ' +
      'fields (a token that was minted expires by itself)',
    exitCode: 1,
  })
}
