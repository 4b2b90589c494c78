/** The widget token: asked for at `{widget_url}`, and found in an answer whose shape is documented nowhere. */
import type { ApiResponse } from '../core/api-request.ts'
import type { Json } from '../core/row.ts'
import { parseTime, type Seconds } from '../core/time.ts'
import { UserError } from '../core/user-error.ts'
import type { Client } from './client.ts'

/** Below `{widget_url}`. */
export const widgetTokenPath = '/v1/widget/token'

/** What the token is for. A member of `visitor` that is left out is not sent. `ttl`: its lifetime; its bounds are not documented. */
export type WidgetSession = {
  readonly visitor: { readonly email?: string; readonly name?: string; readonly company?: string }
  readonly metadata: Readonly<Record<string, string>>
  readonly ttl: Seconds
}

export type WidgetToken = {
  readonly token: string
  /** Null where the answer does not tell: the `ttl` that was asked for need not be the one that was granted. */
  readonly expiresAt: Seconds | null
  /** The answer's data as it came; holds the token. */
  readonly answer: Json
}

/**
 * One request over a client of the widget's address, never a second one: an answer that was lost leaves a token that
 * nobody knows, and that expires by itself. It takes a slot of the writes, as it may count as one. Throws CallFailed, and
 * UserError (1) for an answer without a token that could be recognized.
 */
export async function mintToken(client: Pick<Client, 'send'>, session: WidgetSession): Promise<WidgetToken> {
  const { visitor, metadata, ttl } = session
  const body = { visitor, metadata, ttl } satisfies Json
  const answer = await client.send({
    method: 'POST',
    path: widgetTokenPath,
    body,
    priority: 'write',
    envelope: 'optional',
  })
  const token = findToken(answer.data)
  if (token === null) throw unrecognizedTokenError(answer)
  return { token, expiresAt: findExpiry(answer), answer: answer.data }
}

type AnswerField = { readonly name: string; readonly value: Json; readonly depth: number }

const tokenNames = ['token', 'widgettoken', 'accesstoken', 'sessiontoken', 'visitortoken', 'clienttoken', 'jwt']
/** Moments as RFC 3339, in seconds or in milliseconds; or lifetimes in seconds, by the service's own clock. */
const expiryNames = ['expiresat', 'expires', 'expiry', 'expiration', 'exp', 'expiresin', 'ttl']
/** Where what we sent may come back. */
const echoedFields = ['visitor', 'metadata']

/** A text alone; or the field that is named like a token; or the only text that looks like one. */
export function findToken(data: Json): string | null {
  if (typeof data === 'string') return /^[\w.~+/=:|-]{6,}$/.test(data) ? data : null
  const texts = listFields(data).flatMap((field) => (typeof field.value === 'string' ? [field.value] : []))
  const named = findFieldValue(data, tokenNames, (value) => typeof value === 'string' && /^[\x21-\x7e]+$/.test(value))
  if (typeof named === 'string') return named
  const [only, ...others] = texts.filter(looksLikeToken)
  return others.length === 0 ? (only ?? null) : null
}

function looksLikeToken(text: string): boolean {
  const isUuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)
  return /^[\w.~+/=|-]{16,}$/.test(text) && !isUuid && parseTime(text) === undefined
}

function findExpiry({ data, servedAt }: ApiResponse): Seconds | null {
  const isTime = (value: Json) => typeof value === 'number' || parseTime(value) !== undefined
  const found = findFieldValue(data, expiryNames, isTime)
  if (typeof found !== 'number') return parseTime(found) ?? null
  const at = found > 1e11 ? found / 1000 : found > 1e9 ? found : (servedAt ?? Number.NaN) + found
  return at < 253_402_300_800 ? Math.floor(at) : null
}

/** The value of the fitting field that is nearest to the top; of those, of the first name. Null where there is none. */
function findFieldValue(data: Json, names: readonly string[], isMatch: (value: Json) => boolean): Json {
  const rank = ({ name }: AnswerField) => names.indexOf(normalizeName(name))
  const found = listFields(data).filter((field) => rank(field) >= 0 && isMatch(field.value))
  return found.sort((a, b) => a.depth - b.depth || rank(a) - rank(b))[0]?.value ?? null
}

function listFields(value: Json, depth = 0): AnswerField[] {
  if (typeof value !== 'object' || value === null || depth === 5) return []
  const own = Object.entries(value)
    .filter(([name]) => !echoedFields.includes(normalizeName(name)))
    .map(([name, inner]: [string, Json]) => ({ name, value: inner, depth }))
  return [...own, ...own.flatMap((field) => listFields(field.value, depth + 1))]
}

/** `accessToken`, `access_token`, `access-token` are one name. */
function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, '')
}

/** Names the fields and none of their values: one of them may be the token. */
function unrecognizedTokenError({ data, status, requestId }: ApiResponse): UserError {
  const names = listFields(data).map(({ name }) => (name.length > 40 ? '…' : name))
  const shape = names.length > 0 ? `the fields ${names.slice(0, 20).join(', ')}` : 'no field at all'
  return new UserError({
    what: 'no token was recognized in the answer',
    why: `the service answered ${status} with ${shape}${requestId === null ? '' : ` (request ${requestId})`}`,
    next: 'check DESKMIRROR_WIDGET_URL; if that is right, please report the names of these fields (a token that was minted expires by itself)',
    exitCode: 1,
  })
}
