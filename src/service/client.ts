/** A request takes a slot, makes one HTTP exchange, and becomes a response or an ApiError. */
import { findProxy, type ProxyRule } from '../config/proxy.ts'
import type { Logger } from '../log.ts'
import { withQuery } from '../values/address.ts'
import { trimEnd } from '../values/format.ts'
import { stringifyJson } from '../values/json.ts'
import { hideTexts } from '../values/secret.ts'
import { parseBaseUrl } from '../values/server-address.ts'
import type { EpochMs, Ms } from '../values/time.ts'
import { UserError } from '../values/user-error.ts'
import { type ApiOutcome, classifyExchange } from './classify-response.ts'
import { defaultTimeoutMs, grantTtlMs } from './core/acquire-slot.ts'
import { ApiError, type ApiFailure, describeFailure, failureOfKind } from './core/api-failure.ts'
import type { ApiGet, ApiRequest, ApiResponse, Priority } from './core/api-request.ts'
import { type Connections, openConnections, sendHttpRequest } from './exchange.ts'
import type { Grant, RequestBudget } from './rate-limit/request-budget.ts'
import { createRefusals } from './refusals.ts'
import { createRetryBudget, defaultRetryPolicy, type RetryPolicy, withRetries } from './retry.ts'

export type ClientOptions = {
  /** As `values/server-address.ts` accepts it; it may have a path prefix. */
  readonly baseUrl: URL
  readonly key: string
  /** Without it, the service is reached directly. */
  readonly proxy?: ProxyRule | null
  readonly budget: RequestBudget
  /** It is read to tell whether a refusal is about one row only; without it the status decides. */
  readonly projectId?: string
  /** Refuses every request that is not a read, before it takes a slot. */
  readonly readOnly?: boolean
  /** Stops all waits and reads, but no write that is being sent: its response is evidence. */
  readonly signal: AbortSignal
  /** Aborts reads that are under way; without it, `signal` does. */
  readonly inFlightSignal?: AbortSignal
  readonly log?: Pick<Logger, 'debug' | 'warn'>
  readonly onOutcome?: (priority: Priority, outcome: 'ok' | ApiFailure['kind']) => void
  /** Shared with other clients, and closed by their owner; without them it opens its own. */
  readonly connections?: Connections
  /** For one whole exchange, including connecting. */
  readonly timeoutMs?: Ms
  /** A response that makes almost no progress for this time is aborted. */
  readonly stallMs?: Ms
  readonly maxBodyBytes?: number
  /** A web page there is not the service's, and a person has to correct the address. */
  readonly isNewAddress?: boolean
  /** How long the key pauses after a 429 without Retry-After: the rate's window. */
  readonly defaultRetryAfterMs?: Ms
  readonly retries?: RetryPolicy
  readonly random?: () => number
  readonly now?: () => EpochMs
}

/** How long `beforeSend` may take: it records the send, and a busy database may delay that. */
const maxBeforeSendMs: Ms = 10_000

export type Client = {
  /** A read: retried, redirects refused. Throws ApiError. */
  readonly get: ApiGet
  /**
   * One HTTP request, never a second one. A write uses a fresh connection. `beforeSend`: before any
   * byte is sent; false: nothing is. Throws ApiError, and UserError for a write if `readOnly`.
   */
  readonly send: (request: ApiRequest, beforeSend?: () => Promise<boolean>) => Promise<ApiResponse>
  /** Whether it is served now, so that what failed is not an outage. Throws only bugs. */
  readonly isProjectServed: () => Promise<boolean>
  readonly requestCount: () => number
  readonly hasServiceResponded: () => boolean
  readonly close: () => Promise<void>
}

/** Throws if the key cannot be sent as a header, or if the base URL would expose it. */
export function createClient(options: ClientOptions): Client {
  const {
    signal,
    log,
    retries = defaultRetryPolicy,
    random = Math.random,
    timeoutMs = defaultTimeoutMs,
  } = options
  const connections = options.connections ?? openConnections(Math.min(timeoutMs, 10_000))
  const counts = {
    sent: 0,
    hasServiceResponded: false,
    isNewAddress: options.isNewAddress ?? false,
  }
  const send = createSend(options, connections, counts)
  const hasServiceResponded = () => counts.hasServiceResponded
  const onRetry = (failure: ApiFailure, waitMs: Ms) => logRetry(log, failure, waitMs)
  const retryDeps = {
    policy: retries,
    retryBudget: createRetryBudget(),
    random,
    signal,
    hasServiceResponded,
    onRetry,
  }
  const readUnjudged: ApiGet = async (path, query, priority) => {
    const canBeSmaller = Number(query.limit ?? 1) > 1
    try {
      return await withRetries(() => send({ method: 'GET', path, query, priority }), {
        ...retryDeps,
        canBeSmaller,
      })
    } catch (error) {
      // All but single rows of an answer that is the same each time.
      const readable = failureOfKind(error, 'transient')?.readable
      if (readable === undefined) throw error
      return readable
    }
  }
  const { projectId, now = Date.now } = options
  const refusals = projectId === undefined ? null : createRefusals(projectId, readUnjudged, now)
  /** All that uses the client relies on the kind of a failure: whose refusal it is. */
  const judged = async (
    request: ApiRequest,
    exchange: () => Promise<ApiResponse>,
  ): Promise<ApiResponse> => {
    try {
      const response = await exchange()
      refusals?.recordSuccess(request, response.requestedAt)
      return response
    } catch (error) {
      if (!(error instanceof ApiError) || refusals === null) throw error
      const failure = await refusals.judge(error.failure, request)
      throw failure === error.failure ? error : new ApiError(failure, { cause: error })
    }
  }
  return {
    get: (path, query, priority) =>
      judged({ method: 'GET', path, query, priority }, () => readUnjudged(path, query, priority)),
    send: (request, beforeSend) => judged(request, () => send(request, beforeSend)),
    isProjectServed: async () =>
      (await refusals?.isProjectServed({ method: 'GET', path: '', priority: 'write' })) ?? true,
    requestCount: () => counts.sent,
    hasServiceResponded,
    close: async () => {
      if (options.connections === undefined) await connections.close()
    },
  }
}

function createSend(
  options: ClientOptions,
  connections: Connections,
  counts: { sent: number; hasServiceResponded: boolean; isNewAddress: boolean },
): Client['send'] {
  const {
    baseUrl,
    key,
    budget,
    signal,
    timeoutMs = defaultTimeoutMs,
    stallMs = 10_000,
    now = Date.now,
    maxBodyBytes = 40 * 1024 * 1024,
    defaultRetryAfterMs = 60_000,
    inFlightSignal = signal,
  } = options
  const address = parseBaseUrl(baseUrl.href)
  if (!address.ok) throw new Error(`the base URL ${address.why}`)
  const redactKey = createRedactor(key)
  const headers = toHeaders(key)
  const prefix = trimEnd(baseUrl.pathname, '/')
  const { reads, writes } = connections.forOrigin(
    baseUrl,
    findProxy(options.proxy ?? null, baseUrl),
  )
  return async (request, beforeSend) => {
    const { method, path, priority, hidden = [] } = request
    const redact = (text: string) => hideTexts(redactKey(text), hidden)
    if (options.readOnly === true && method !== 'GET') throw readOnlyError(request)
    const maxDurationMs = timeoutMs + grantTtlMs + (beforeSend === undefined ? 0 : maxBeforeSendMs)
    const slotRequest = { priority, write: method !== 'GET', maxDurationMs, signal }
    const slot = await acquireGrant(() => budget.acquire(slotRequest), redact)
    if (beforeSend !== undefined && !(await runBeforeSend(budget, slot, beforeSend))) {
      const why = `${method} ${path} was not sent: it was superseded before sending`
      throw new ApiError(unsent(why))
    }
    const requestedAt = now()
    let hasResponse = false
    const result = await sendHttpRequest(
      method === 'GET' ? reads : writes,
      toHttpRequest(prefix, headers, request),
      {
        // The slot expires then; a process that was suspended meanwhile has less time.
        timeoutMs: Math.min(timeoutMs, Math.max(1, slot.remainingMs())),
        stallMs,
        maxBodyBytes,
        signal: inFlightSignal,
        canStillSend: () => slot.remainingMs() > 0,
        onRequestStart: () => {
          counts.sent += 1
        },
        onResponseHead: () => {
          hasResponse = true
          counts.hasServiceResponded = true
          budget.releaseResponded(slot)
        },
      },
    )
    if (!hasResponse && result.kind !== 'complete') {
      if (result.mayHaveBeenSent) budget.endUnanswered(slot)
      else budget.releaseUnsent(slot)
    }
    const outcome = classifyExchange(result, {
      request,
      requestedAt,
      receivedAt: now(),
      defaultRetryAfterMs,
      isNewAddress: counts.isNewAddress,
      redact,
    })
    const took_ms = now() - requestedAt
    options.log?.debug({
      event: 'request.completed',
      method,
      path,
      ...outcomeFields(outcome),
      took_ms,
    })
    options.onOutcome?.(priority, outcome.ok ? 'ok' : outcome.failure.kind)
    if (outcome.ok) {
      counts.isNewAddress = false
      return outcome.response
    }
    const { failure } = outcome
    if (failure.kind === 'throttled')
      await budget.recordThrottle(slot, failure.waitMs).catch(() => {})
    throw new ApiError(failure)
  }
}

/** No byte of the request can have left. */
const unsent = (why: string) => {
  const failure = { kind: 'transient', why, mayHaveBeenSent: false, status: null } as const
  return { ...failure, requestId: null }
}

/** Nothing is sent without the budget's store. What only a person can fix is thrown unchanged. */
async function acquireGrant(
  acquire: () => Promise<Grant>,
  redact: (text: string) => string,
): Promise<Grant> {
  try {
    return await acquire()
  } catch (error) {
    if (error instanceof ApiError || (error instanceof UserError && error.exitCode === 2))
      throw error
    const reason = redact(error instanceof Error ? error.message : 'unknown error')
    const why = `the request budget cannot be reached: ${reason}`
    const next = error instanceof UserError ? error.next : null
    throw new ApiError({ ...unsent(why), budgetFailure: { reason, next } })
  }
}

/** Releases the slot if `beforeSend` returns false or throws. */
async function runBeforeSend(
  budget: RequestBudget,
  slot: Grant,
  beforeSend: () => Promise<boolean>,
): Promise<boolean> {
  let mayBeSent = false
  try {
    mayBeSent = await beforeSend()
    return mayBeSent
  } finally {
    if (!mayBeSent) budget.releaseUnsent(slot)
  }
}

function logRetry(log: ClientOptions['log'], failure: ApiFailure, waitMs: Ms): void {
  const why = describeFailure(failure)
  if (failure.kind === 'throttled')
    log?.warn({ event: 'request.throttled', why, wait_ms: Math.round(failure.waitMs) })
  else log?.debug({ event: 'request.retried', why, wait_ms: Math.round(waitMs) })
}

function readOnlyError({ method, path }: ApiRequest): UserError {
  return new UserError({
    what: 'nothing is written to the service',
    why: `writing is switched off (DESKMIRROR_READ_ONLY), so ${method} ${path} was not sent`,
    next: 'set DESKMIRROR_READ_ONLY=0 (`read_only` in deskmirror.yaml), or remove it, to allow writing',
  })
}

function toHeaders(key: string): Readonly<Record<string, string>> {
  // The message must not show the key.
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new Error('the API key holds characters that cannot be sent in a header')
  const accepted = { accept: 'application/json', 'accept-encoding': 'gzip' }
  return { authorization: `Bearer ${key}`, ...accepted, 'user-agent': 'deskmirror' }
}

function toHttpRequest(
  prefix: string,
  headers: Readonly<Record<string, string>>,
  { method, path, query = {}, body }: ApiRequest,
) {
  const target = { method, path: withQuery(prefix + path, query) }
  if (body === undefined) return { ...target, headers, body: null }
  const jsonHeaders = { ...headers, 'content-type': 'application/json' }
  return { ...target, headers: jsonHeaders, body: stringifyJson(body) }
}

function outcomeFields(outcome: ApiOutcome): Readonly<Record<string, unknown>> {
  if (outcome.ok) return { status: outcome.response.status, request_id: outcome.response.requestId }
  return { failure: outcome.failure.kind, why: describeFailure(outcome.failure) }
}

/** Libraries show a key in errors, and a service may repeat what it was sent. */
export function createRedactor(key: string): (text: string) => string {
  const forms = [key, encodeURIComponent(key), Buffer.from(key).toString('base64')]
  return (text) => hideTexts(text, forms, '[key]').replace(/svc_live_\w+/gi, '[key]')
}
