/** The one file that reads HTTP statuses: classifies an exchange as a response or a failure. Pure; never throws. */
import type { ApiFailure } from '../core/api-failure.ts'
import type { ApiRequest, ApiResponse } from '../core/api-request.ts'
import { toCursorLimit } from '../core/cursor-limit.ts'
import type { EpochMs, Ms } from '../core/time.ts'
import { decodeUtf8 } from './decode.ts'
import { type Envelope, type ErrorBody, parseBareBody, parseEnvelope } from './envelope.ts'
import type { ExchangeResult, ResponseHead } from './exchange.ts'
import { attachItems } from './items.ts'
import { firstHeader, parseServerDate, retryAfterMs } from './response-headers.ts'
import type { SplitBody } from './row-batches.ts'

/** What an outcome depends on besides the exchange. `redact` removes the key from a text. */
export type RequestContext = {
  readonly request: ApiRequest
  readonly requestedAt: EpochMs
  readonly receivedAt: EpochMs
  /** The length of the service's rate window: how long to wait after a 429 without Retry-After. */
  readonly defaultRetryAfterMs: Ms
  readonly redact: (text: string) => string
}

export type ApiOutcome =
  | { readonly ok: true; readonly response: ApiResponse }
  | { readonly ok: false; readonly failure: ApiFailure }

/** How many characters of a service's message are read. */
const maxTextLength = 2000

export function classifyExchange(exchange: ExchangeResult, context: RequestContext): ApiOutcome {
  if (exchange.kind === 'aborted') return failedOutcome({ kind: 'aborted' })
  if (exchange.kind === 'broken') {
    const { head, mayHaveBeenSent } = exchange
    // A refused write was not done, even if its response broke off. A read is sent again instead.
    if (isWrite(context.request) && head !== null && isCertainRefusal(head.status))
      return failedOutcome(classifyStatus(head.status, head, null, context))
    const why = `${requestName(context.request)}: ${toSafeLine(exchange.why, context)}`
    const [status, requestId] = head === null ? [null, null] : [head.status, requestIdOf(null, head, context)]
    if (!exchange.isRetryable && status !== null && context.request.method === 'GET' && status < 300)
      return failedOutcome({ kind: 'refused', status, code: `http_${status}`, why, fields: [], requestId })
    const statedResult =
      status !== null && isWrite(context.request) ? unprovenWrite(status, null)?.statedResult : undefined
    return failedOutcome({
      kind: 'transient',
      why,
      mayHaveBeenSent,
      status,
      requestId,
      ...(statedResult === undefined ? {} : { statedResult }),
    })
  }
  return classifyResponse(exchange.head, exchange.body, context)
}

/**
 * Statuses that prove that a write was not done. Any other status below 500 may follow a write that was done: a redirect,
 * a 409 that means "this exists already", a 406 about the response, a 423, a 499 of a proxy.
 */
const refusalStatuses: readonly number[] = [
  400, 401, 402, 403, 404, 405, 410, 411, 413, 414, 415, 422, 426, 428, 429, 431, 451,
]

/** 401 and 403 stop more than one write, so they count only with a complete body. */
function isCertainRefusal(status: number): boolean {
  return refusalStatuses.includes(status) && status !== 401 && status !== 403
}

/** A widget token does not count: the service does not store it, so it may be requested again. */
function isWrite(request: ApiRequest): boolean {
  return request.method !== 'GET' && request.envelope !== 'optional'
}

function classifyResponse(head: ResponseHead, { rest, batches }: SplitBody, context: RequestContext): ApiOutcome {
  const text = decodeUtf8(rest)
  const envelope = text === null ? null : parseEnvelope(text)
  const requestId = requestIdOf(envelope, head, context)
  if (head.status >= 300) return failedOutcome(classifyStatus(head.status, head, envelope, context))
  const unproven = isWrite(context.request) ? unprovenWrite(head.status, envelope) : null
  if (unproven !== null)
    return failedOutcome({
      ...unproven,
      why: `${requestName(context.request)}: ${toSafeLine(unproven.why, context)}`,
      requestId,
    })
  // An error with a success status: the error counts.
  const error = envelope?.error ?? null
  if (error !== null && error.status !== null && error.status >= 400)
    return failedOutcome(classifyStatus(error.status, head, envelope, context))
  const bare = context.request.envelope === 'optional' && text !== null ? parseBareBody(text) : null
  const withItems = attachItems(envelope?.data ?? bare, batches)
  const unreadable =
    error === null
      ? unreadableReason(context.request, text, envelope, withItems !== null)
      : 'an error under a success status'
  if (unreadable !== null || withItems === null) {
    const why = `${requestName(context.request)}: ${head.status} with ${toSafeLine(unreadable ?? '', context)}`
    return failedOutcome({ kind: 'transient', why, mayHaveBeenSent: true, status: head.status, requestId })
  }
  const serverDate = parseServerDate(head)
  const { requestedAt, receivedAt } = context
  const cursorLimit = toCursorLimit({ serverDate, requestedAt, receivedAt })
  return { ok: true, response: { ...withItems, status: head.status, requestId, serverDate, cursorLimit, requestedAt } }
}

type TransientFailure = Extract<ApiFailure, { kind: 'transient' }>

/** They prove that a write was done, unless the body says otherwise. 202 and 207 mean "later" and "in part". */
const successStatuses: readonly number[] = [200, 201, 203, 204, 205]

/** The failure of a 2xx that does not prove that a write was done; null: it does. */
function unprovenWrite(status: number, envelope: Envelope | null): TransientFailure | null {
  const unknown = { kind: 'transient', mayHaveBeenSent: true, status, requestId: null } as const
  const failure = envelope?.failureText ?? null
  if (failure !== null) {
    const why = `${status}, but its body says that it failed: ${failure}`
    return { ...unknown, why, ...(canSucceedLater(envelope?.error ?? null) ? {} : { statedResult: 'refused' }) }
  }
  if (status >= 300 || successStatuses.includes(status)) return null
  return { ...unknown, why: `${status}: accepted, and perhaps not done yet`, statedResult: 'accepted' }
}

/** Whether the same write may succeed later. */
function canSucceedLater(error: ErrorBody | null): boolean {
  const status = error?.status ?? 400
  return error?.code === 'rate_limited' || !refusalStatuses.includes(status) || [401, 403, 429].includes(status)
}

/** A read needs `data`. Bodies of responses to writes are not documented: an empty one is fine, and any JSON object. */
function unreadableReason(
  request: ApiRequest,
  text: string | null,
  envelope: Envelope | null,
  whole: boolean,
): string | null {
  if (text === null) return 'a body that is not UTF-8'
  const empty = text.trim() === ''
  if (request.envelope === 'optional') return empty ? 'an empty body' : null
  if (request.method !== 'GET' && empty) return null
  if (empty) return 'an empty body'
  if (envelope === null && text.trimStart().startsWith('<'))
    return 'a web page: a proxy, or another service, answers there'
  if (envelope === null) return 'a body that is not a JSON object'
  if (!whole) return 'rows that are not JSON in UTF-8'
  if (request.method === 'GET' && (envelope.data === undefined || envelope.data === null))
    return 'no data in its envelope'
  return null
}

function classifyStatus(
  status: number,
  head: ResponseHead,
  envelope: Envelope | null,
  context: RequestContext,
): ApiFailure {
  const error = envelope?.error ?? null
  const requestId = requestIdOf(envelope, head, context)
  const code = toSafeLine(error?.code ?? `http_${status}`, context)
  const why = `${requestName(context.request)}: ${status} ${code}: ${toSafeLine(errorMessage(error, status, head), context)}`
  if (status === 429 || error?.code === 'rate_limited') {
    return { kind: 'throttled', waitMs: retryAfterMs(head) ?? context.defaultRetryAfterMs, why, requestId }
  }
  const unknown = status === 408 || status === 425 || (isWrite(context.request) && !refusalStatuses.includes(status))
  if (status >= 500 || unknown) {
    const waitMs = retryAfterMs(head)
    return { kind: 'transient', why, mayHaveBeenSent: true, status, requestId, ...(waitMs === null ? {} : { waitMs }) }
  }
  if (status === 401 || (status === 403 && !isAboutOneWrite(error, context.request))) {
    const scope = error?.code === 'api_key_scope_missing' ? findScope(error.message ?? '') : null
    return { kind: 'denied', status, code, scope: scope === null ? null : toSafeLine(scope, context), why, requestId }
  }
  const fields = (error?.fields ?? []).map((field) => toSafeLine(field, context))
  return { kind: 'refused', status, code, why, fields, requestId }
}

/**
 * The service's own codes of a 403 are about the key. Anything else that forbids a write (a gateway that rejects its text)
 * is about this write only: taken for a denied key, it would stop all other writes permanently.
 */
function isAboutOneWrite(error: ErrorBody | null, request: ApiRequest): boolean {
  return request.method !== 'GET' && !(error?.code ?? '').startsWith('api_key_')
}

function errorMessage(error: ErrorBody | null, status: number, head: ResponseHead): string {
  if (status < 400)
    return `the service redirects to ${redirectTarget(firstHeader(head, 'location'))}; is the base URL right?`
  if (error === null) return 'an answer without an error envelope; is the base URL right?'
  const fields = error.fields.length > 0 ? ` (${error.fields.join(', ')})` : ''
  return (error.message ?? 'no message') + fields
}

/** Where a redirect leads, without query and credentials. */
function redirectTarget(location: string | null): string {
  if (location === null) return 'an unnamed address'
  if (!URL.canParse(location)) return location.split(/[?#]/, 1).join('')
  const { origin, pathname } = new URL(location)
  return origin === 'null' ? 'an address that is not HTTP' : origin + pathname
}

/** The scope that a message names. Its wording is not documented; a scope looks like `visitors:read`. */
function findScope(text: string): string | null {
  const words = text.slice(0, maxTextLength).split(/[^\w:-]/)
  const pairs = words.flatMap((word) => {
    const parts = word.split(':')
    return parts.slice(1).map((part, i) => [parts[i] ?? '', part] as const)
  })
  const scopes = pairs.filter((pair) => pair.every((part) => /^[a-z]/i.test(part)))
  const scope = scopes.find(([, access]) => /^(?:read|write)$/i.test(access)) ?? scopes[0]
  return scope === undefined ? null : scope.join(':')
}

function requestIdOf(envelope: Envelope | null, head: ResponseHead, context: RequestContext): string | null {
  const id = envelope?.requestId ?? firstHeader(head, 'x-request-id')
  return id === null ? null : toSafeLine(id, context)
}

function requestName(request: ApiRequest): string {
  return `${request.method} ${request.path}`
}

/**
 * One line of at most 300 characters, without the key: a service's message ends up on terminals and in logs. The key is
 * removed first: half a key at the end of a cut line would not be recognized.
 */
function toSafeLine(text: string, { redact }: RequestContext): string {
  const line = redact(text)
    .slice(0, maxTextLength)
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()
  return line.length > 300 ? `${line.slice(0, 299)}…` : line
}

function failedOutcome(failure: ApiFailure): ApiOutcome {
  return { ok: false, failure }
}
