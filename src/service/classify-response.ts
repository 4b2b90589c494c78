/** What an exchange was: a response, or which failure. Pure; never throws. */
import { createHash } from 'node:crypto'
import { asJsonObject } from '../values/json.ts'
import type { EpochMs, Ms } from '../values/time.ts'
import { type ApiFailure, tooLargeBody, webPageCode } from './core/api-failure.ts'
import type { ApiRequest, ApiResponse } from './core/api-request.ts'
import {
  attachItems,
  attachReadableItems,
  decodeUtf8,
  type Envelope,
  type ErrorBody,
  parseBareBody,
  parseEnvelope,
} from './envelope.ts'
import type { ExchangeResult, ResponseHead } from './exchange.ts'
import { firstHeader, parseServerDate, retryAfterMs, toCursorLimit } from './response-headers.ts'
import type { SplitBody } from './row-splitter.ts'

/** What an outcome depends on besides the exchange. `redact` removes the key from a text. */
type RequestContext = {
  readonly request: ApiRequest
  readonly requestedAt: EpochMs
  readonly receivedAt: EpochMs
  /** The length of the service's rate window: how long to wait after a 429 without Retry-After. */
  readonly defaultRetryAfterMs: Ms
  /** Nothing at this address has answered as the service yet. */
  readonly isNewAddress?: boolean
  readonly redact: (text: string) => string
}

export type ApiOutcome =
  | { readonly ok: true; readonly response: ApiResponse }
  | { readonly ok: false; readonly failure: ApiFailure }

/** How many characters of a service's message are read. */
const maxTextLength = 2000

export function classifyExchange(exchange: ExchangeResult, context: RequestContext): ApiOutcome {
  if (exchange.kind === 'complete') return classifyResponse(exchange.head, exchange.body, context)
  return failed(
    exchange.kind === 'aborted' ? { kind: 'aborted' } : classifyBroken(exchange, context),
  )
}

function classifyBroken(
  exchange: Extract<ExchangeResult, { kind: 'broken' }>,
  context: RequestContext,
): ApiFailure {
  const { head, mayHaveBeenSent, isRetryable, isTooLarge, proxy } = exchange
  const { request } = context
  // A refused write was not done, even if its response broke off. A read is sent again instead.
  if (isWrite(request) && head !== null && isCertainRefusal(head.status))
    return classifyStatus(head.status, head, null, context)
  const why = toReason(exchange.why, context)
  const [status, requestId] =
    head === null ? [null, null] : [head.status, requestIdOf(null, head, context)]
  if (!isRetryable && status !== null && request.method === 'GET' && status < 300)
    return { kind: 'refused', status, code: `http_${status}`, why, fields: [], requestId }
  const statedResult =
    status !== null && isWrite(request) ? unprovenWrite(status, null)?.statedResult : undefined
  return {
    kind: 'transient',
    why,
    mayHaveBeenSent,
    status,
    requestId,
    ...(statedResult && { statedResult }),
    ...(isTooLarge && status !== null && status < 300 && { unreadable: tooLargeBody }),
    ...(proxy && { proxy }),
  }
}

/**
 * They prove that a write was not done. Any other status below 500 may follow one that was: a
 * redirect, a 409 ("this exists already"), a 406 about the response, a 423, a 499 of a proxy.
 */
const refusals: readonly number[] = [
  400, 401, 402, 403, 404, 405, 410, 411, 413, 414, 415, 422, 426, 428, 429, 431, 451,
]

/** A 401 or 403 stops all sending, so it is trusted only with a complete body. */
const isCertainRefusal = (status: number): boolean =>
  refusals.includes(status) && status !== 401 && status !== 403

/** A widget token does not count: the service does not store it, so it may be requested again. */
const isWrite = (request: ApiRequest): boolean =>
  request.method !== 'GET' && request.envelope !== 'optional'

function classifyResponse(
  head: ResponseHead,
  { rest, batches }: SplitBody,
  context: RequestContext,
): ApiOutcome {
  const text = decodeUtf8(rest)
  const envelope = text === null ? null : parseEnvelope(text)
  const requestId = requestIdOf(envelope, head, context)
  const { status } = head
  const { request } = context
  if (status >= 300) return failed(classifyStatus(status, head, envelope, context))
  const unproven = isWrite(request) ? unprovenWrite(status, envelope) : null
  if (unproven !== null)
    return failed({ ...unproven, why: toReason(unproven.why, context), requestId })
  // An error with a success status: the error counts.
  const errorStatus = envelope?.error?.status ?? 0
  if (errorStatus >= 400) return failed(classifyStatus(errorStatus, head, envelope, context))
  const bare = request.envelope === 'optional' && text !== null ? parseBareBody(text) : null
  const withItems = attachItems(envelope?.data ?? bare, batches)
  const unreadable = unreadableReason(request, text, envelope, withItems !== null)
  const serverDate = parseServerDate(head)
  const { requestedAt } = context
  const cursorLimit = toCursorLimit(serverDate, context)
  const received = { status, requestId, serverDate, cursorLimit, requestedAt }
  if (unreadable !== null || withItems === null) {
    const why = `${requestName(request)}: ${status} with ${unreadable ?? ''}`
    // Later it may be a page about maintenance; here the address leads elsewhere.
    if (context.isNewAddress === true && !isWrite(request) && isWebPage(text))
      return failed({ kind: 'refused', status, code: webPageCode, why, fields: [], requestId })
    const hash = hashOf({ rest, batches })
    const isOnlyRows =
      unreadable !== null && withItems === null && isReadableWithout(envelope, request)
    const readable = isOnlyRows ? attachReadableItems(envelope?.data ?? null, batches) : null
    const failure = {
      kind: 'transient',
      why,
      mayHaveBeenSent: true,
      status,
      requestId,
      unreadable: hash,
    } as const
    return failed(
      readable === null ? failure : { ...failure, readable: { ...readable, ...received } },
    )
  }
  return { ok: true, response: { ...withItems, ...received } }
}

/** Nothing but rows of a list that is read cannot be parsed. */
function isReadableWithout(envelope: Envelope | null, { method }: ApiRequest): boolean {
  return (
    method === 'GET' &&
    envelope !== null &&
    envelope.error === null &&
    (envelope.data ?? null) !== null
  )
}

const requestIds = /"requestId"\s*:\s*"[^"]*"/g

/** Of all but the id of the request, which differs each time. */
function hashOf({ rest, batches }: SplitBody): string {
  const bytes = Buffer.concat([rest, ...(batches ?? []).map((batch) => batch.bytes)])
  return createHash('sha256')
    .update(bytes.toString('latin1').replace(requestIds, ''))
    .digest('base64')
}

/** They prove a write, unless the body says otherwise. 202 and 207 mean "later" and "in part". */
const successStatuses: readonly number[] = [200, 201, 203, 204, 205]

/** The failure of a 2xx that does not prove that a write was done; null: it does. */
function unprovenWrite(
  status: number,
  envelope: Envelope | null,
): Extract<ApiFailure, { kind: 'transient' }> | null {
  const unknown = { kind: 'transient', mayHaveBeenSent: true, status, requestId: null } as const
  const failure = envelope?.failureText ?? null
  if (failure !== null) {
    const why = `${status}, but its body says that it failed: ${failure}`
    return {
      ...unknown,
      why,
      ...(canSucceedLater(envelope?.error ?? null) ? {} : { statedResult: 'refused' }),
    }
  }
  if (status >= 300 || successStatuses.includes(status)) return null
  return {
    ...unknown,
    why: `${status}: accepted, and perhaps not done yet`,
    statedResult: 'accepted',
  }
}

function canSucceedLater(error: ErrorBody | null): boolean {
  const status = error?.status ?? 400
  return (
    error?.code === 'rate_limited' || !refusals.includes(status) || [401, 403, 429].includes(status)
  )
}

/** A read needs `data`. After a write, an empty body is fine, and any object but a failure. */
function unreadableReason(
  request: ApiRequest,
  text: string | null,
  envelope: Envelope | null,
  isWhole: boolean,
) {
  if (envelope !== null && envelope.error !== null) return 'an error under a success status'
  if (text === null) return 'a body that is not UTF-8'
  const isRead = request.method === 'GET'
  const isEmpty = text.trim() === ''
  if (isEmpty) return isRead || request.envelope === 'optional' ? 'an empty body' : null
  if (request.envelope === 'optional') return null
  if (envelope === null)
    return isWebPage(text)
      ? 'a web page: a proxy, or another service, answers there'
      : 'a body that is not a JSON object'
  if (!isRead && envelope.data !== undefined && asJsonObject(envelope.data) === null)
    return 'data that is no object'
  if (!isWhole) return 'rows that are not JSON in UTF-8'
  return isRead && (envelope.data ?? null) === null ? 'no data in its envelope' : null
}

const isWebPage = (text: string | null): boolean => text?.trimStart().startsWith('<') === true

function classifyStatus(
  status: number,
  head: ResponseHead,
  body: Envelope | null,
  context: RequestContext,
): ApiFailure {
  const error = body?.error ?? null
  const requestId = requestIdOf(body, head, context)
  const code = toSafeLine(error?.code ?? `http_${status}`, context)
  const message = toSafeLine(errorMessage(error, status, head), context)
  const why = `${requestName(context.request)}: ${status} ${code}: ${message}`
  if (status === 429 || error?.code === 'rate_limited') {
    const isDocumented = status === 429 && error?.code === 'rate_limited'
    const waitMs = retryAfterMs(head) ?? context.defaultRetryAfterMs
    return { kind: 'throttled', waitMs, why, isDocumented, requestId }
  }
  const unknown =
    status === 408 || status === 425 || (isWrite(context.request) && !refusals.includes(status))
  if (status >= 500 || unknown) {
    const waitMs = retryAfterMs(head)
    return {
      kind: 'transient',
      why,
      mayHaveBeenSent: true,
      status,
      requestId,
      ...(waitMs === null ? {} : { waitMs }),
    }
  }
  if (status === 401 || (status === 403 && !isAboutOneWrite(error, context.request))) {
    const scope = error?.code === 'api_key_scope_missing' ? findScope(error.message ?? '') : null
    return {
      kind: 'denied',
      status,
      code,
      scope: scope === null ? null : toSafeLine(scope, context),
      why,
      requestId,
    }
  }
  const fields = (error?.fields ?? []).map((field) => toSafeLine(field, context))
  return { kind: 'refused', status, code, why, fields, requestId }
}

/**
 * The service's own codes of a 403 are about the key or a row (core/whose-refusal.ts). Anything
 * else, such as a gateway that rejects its text, is about this write, unless the project is
 * forbidden as well.
 */
function isAboutOneWrite(error: ErrorBody | null, request: ApiRequest): boolean {
  return request.method !== 'GET' && !(error?.code ?? '').startsWith('api_key_')
}

function errorMessage(error: ErrorBody | null, status: number, head: ResponseHead): string {
  if (status < 400)
    return `the service redirects to ${redirectTarget(head)}; is the base URL right?`
  if (error === null) return 'a response without an error envelope; is the base URL right?'
  const fields = error.fields.length > 0 ? ` (${error.fields.join(', ')})` : ''
  return (error.message ?? 'no message') + fields
}

/** Where a redirect leads, without query and credentials. */
function redirectTarget(head: ResponseHead): string {
  const location = firstHeader(head, 'location')
  if (location === null) return 'an unnamed address'
  if (!URL.canParse(location)) return location.split(/[?#]/, 1).join('')
  const { origin, pathname } = new URL(location)
  return origin === 'null' ? 'an address that is not HTTP' : origin + pathname
}

/** Its wording is not documented; a scope looks like `visitors:read`. */
function findScope(text: string): string | null {
  const words = text.slice(0, maxTextLength).split(/[^\w:-]/)
  const parts = words.map((word) => word.split(':'))
  const pairs = parts.flatMap((all) => all.slice(1).map((part, i) => [all[i] ?? '', part] as const))
  const scopes = pairs.filter((pair) => pair.every((part) => /^[a-z]/i.test(part)))
  const scope = scopes.find(([, access]) => /^(?:read|write)$/i.test(access)) ?? scopes[0]
  return scope === undefined ? null : scope.join(':')
}

function requestIdOf(
  envelope: Envelope | null,
  head: ResponseHead,
  context: RequestContext,
): string | null {
  const id = envelope?.requestId ?? firstHeader(head, 'x-request-id')
  return id === null ? null : toSafeLine(id, context)
}

const requestName = ({ method, path }: ApiRequest): string => `${method} ${path}`

function toReason(text: string, context: RequestContext): string {
  return `${requestName(context.request)}: ${toSafeLine(text, context)}`
}

/**
 * One line of at most 300 characters, for terminals and logs. The key is removed first: half a key
 * at the end of a cut line would not be recognized.
 */
function toSafeLine(text: string, { redact }: RequestContext): string {
  const line = redact(text)
    .slice(0, maxTextLength)
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()
  return line.length > 300 ? `${line.slice(0, 299)}…` : line
}

const failed = (failure: ApiFailure): ApiOutcome => ({ ok: false, failure })
