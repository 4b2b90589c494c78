/** The client: a call → a slot of the budget → one HTTP exchange → an answer, or CallFailed and nothing else. */

import { parseBaseUrl as checkBaseUrl } from '../core/base-url.ts'
import { grantTtlMs, defaultDeadlineMs } from '../core/rate-limit/budget.ts'
import type { ApiResponse, ApiRequest, ApiGet, QueryParams } from '../core/api-request.ts'
import { ApiError, describeFailure, type ApiFailure } from '../core/api-failure.ts'
import { stringifyJson } from '../core/json.ts'
import type { Priority } from '../core/rate-limit/priority.ts'
import type { EpochMs, Ms } from '../core/time.ts'
import { trimEnd } from '../core/trim.ts'
import { UserError } from '../core/user-error.ts'
import type { RequestBudget, Grant } from './rate-limit/request-budget.ts'
import { classifyExchange, type ApiOutcome } from './classify.ts'
import { type Connections, openConnections } from './connections.ts'
import { sendHttpRequest, type HttpRequest } from './exchange.ts'
import { createRedactor } from './redact.ts'
import { createRetryBudget, type RetryPolicy, defaultRetryPolicy, withRetries } from './retry.ts'

export type ClientOptions = {
  /** As `core/base-url.ts` accepts it; it may have a path prefix. */
  readonly baseUrl: URL
  readonly key: string
  readonly budget: RequestBudget
  /** Refuses every call that is no read, before it takes a slot. */
  readonly readOnly?: boolean
  /** Stops everything that waits or reads. A write that has begun to leave is not cut off: its answer is evidence. */
  readonly signal: AbortSignal
  /** Cuts off reads that are under way, too; without it, `signal` does. */
  readonly hardSignal?: AbortSignal
  /** pino, or whatever takes its events. */
  readonly log?: ClientLog
  /** Told once for each request that was to be sent. */
  readonly onOutcome?: (lane: Priority, outcome: 'ok' | ApiFailure['kind']) => void
  /** Shared with other clients, and closed by their owner; without it the client has its own. */
  readonly connections?: Connections
  /** For one whole exchange, connecting included. */
  readonly timeoutMs?: Ms
  /** An answer that brings next to nothing for so long is given up. */
  readonly stallMs?: Ms
  readonly maxBodyBytes?: number
  /** How long the key rests after a 429 that does not say: the rate's window. */
  readonly windowMs?: Ms
  readonly retries?: RetryPolicy
  readonly random?: () => number
  readonly now?: () => EpochMs
  readonly version?: string
}

/** What may pass while it is written down that a request leaves: a busy database lets one wait. */
const confirmSendMs: Ms = 10_000

export type ClientLog = {
  readonly debug: (event: Readonly<Record<string, unknown>>) => void
  readonly warn: (event: Readonly<Record<string, unknown>>) => void
}

export type Client = {
  /** A read: retried, redirects refused. Throws CallFailed. */
  readonly get: ApiGet
  /**
   * One HTTP request, never a second one, whatever happens. A write goes over a fresh connection. `leave` is asked when the
   * budget lets it go and before any byte leaves; false: it stays. Throws CallFailed, and UserError for a write where
   * `readOnly` forbids it.
   */
  readonly send: (call: ApiRequest, leave?: () => Promise<boolean>) => Promise<ApiResponse>
  /** Requests that began to leave so far. */
  readonly requests: () => number
  /** Whether the service has answered any of them. */
  readonly hasServiceAnswered: () => boolean
  readonly close: () => Promise<void>
}

/** Throws where the key cannot be sent as a header at all, and where the base URL would show it to others. */
export function createClient(options: ClientOptions): Client {
  const {
    baseUrl,
    budget,
    signal,
    log,
    timeoutMs = defaultDeadlineMs - grantTtlMs,
    maxBodyBytes = 40 * 1024 * 1024,
  } = options
  const { windowMs = 60_000, retries = defaultRetryPolicy, random = Math.random, now = Date.now } = options
  const address = checkBaseUrl(baseUrl.href)
  if (!address.ok) throw new Error(`the base URL ${address.why}`)
  const redact = createRedactor(options.key)
  const headers = toHeaders(options.key, options.version ?? '0')
  const connections = options.connections ?? openConnections(Math.min(timeoutMs, 10_000))
  const { reads, writes } = connections.forOrigin(baseUrl.origin)
  const retryBudget = createRetryBudget()
  let sentRequests = 0
  let hasServiceAnswered = false

  async function send(call: ApiRequest, confirmSend?: () => Promise<boolean>): Promise<ApiResponse> {
    if (options.readOnly === true && call.method !== 'GET') throw readOnlyError(call)
    const slot = await acquireSlot(call, confirmSend === undefined ? 0 : confirmSendMs)
    if (confirmSend !== undefined && !(await isSendConfirmed(slot, confirmSend))) {
      const why = `${call.method} ${call.path} was held back`
      throw new ApiError({ kind: 'transient', why, left: false, status: null, requestId: null })
    }
    const askedAt = now()
    let answered = false
    const result = await sendHttpRequest(call.method === 'GET' ? reads : writes, toRequest(baseUrl, headers, call), {
      // The slot is held until then; whoever was stopped on the way here has less time.
      timeoutMs: Math.min(timeoutMs, Math.max(1, slot.remainingMs())),
      stallMs: options.stallMs ?? 10_000,
      maxBodyBytes,
      signal: options.hardSignal ?? signal,
      canStillSend: () => slot.remainingMs() > 0,
      onRequestStart: () => {
        sentRequests += 1
      },
      onResponseHead: () => {
        answered = true
        hasServiceAnswered = true
        budget.releaseAnswered(slot)
      },
    })
    if (!answered && result.kind !== 'answered' && !result.mayHaveBeenSent) budget.releaseUnsent(slot)
    const outcome = classifyExchange(result, { call, askedAt, answeredAt: now(), windowMs, redact })
    log?.debug({
      event: 'call.ended',
      method: call.method,
      path: call.path,
      ...outcomeFields(outcome),
      took_ms: now() - askedAt,
    })
    options.onOutcome?.(call.priority, outcome.ok ? 'ok' : outcome.failure.kind)
    if (outcome.ok) return outcome.answer
    if (outcome.failure.kind === 'throttled') await budget.recordThrottle(slot, outcome.failure.waitMs).catch(() => {})
    throw new ApiError(outcome.failure)
  }

  /** A slot that is not used goes back. */
  async function isSendConfirmed(slot: Grant, confirmSend: () => Promise<boolean>): Promise<boolean> {
    const isConfirmed = await confirmSend().catch((error: unknown) => {
      budget.releaseUnsent(slot)
      throw error
    })
    if (!isConfirmed) budget.releaseUnsent(slot)
    return isConfirmed
  }

  /** The store of the budget may be out of reach. Then nothing is sent. What only a person can change there is thrown as it is. */
  async function acquireSlot(call: ApiRequest, confirmMs: Ms): Promise<Grant> {
    try {
      const deadlineMs = timeoutMs + grantTtlMs + confirmMs
      return await budget.acquire({ priority: call.priority, write: call.method !== 'GET', deadlineMs, signal })
    } catch (error) {
      if (error instanceof ApiError || (error instanceof UserError && error.exitCode === 2)) throw error
      const why = redact(
        `the request budget is out of reach: ${error instanceof Error ? error.message : 'unknown error'}`,
      )
      throw new ApiError({ kind: 'transient', why, left: false, status: null, budget: true, requestId: null })
    }
  }

  const onRetry = (failure: ApiFailure, waitMs: Ms) => {
    const throttled = failure.kind === 'throttled'
    log?.[throttled ? 'warn' : 'debug']({
      event: throttled ? 'call.throttled' : 'call.retried',
      why: describeFailure(failure),
      wait_ms: Math.round(throttled ? failure.waitMs : waitMs),
    })
  }

  return {
    get: (path, query, lane) =>
      withRetries(() => send({ method: 'GET', path, query, priority: lane }), {
        policy: retries,
        retryBudget,
        random,
        signal,
        hasServiceAnswered: () => hasServiceAnswered,
        onRetry,
      }),
    send,
    requests: () => sentRequests,
    hasServiceAnswered: () => hasServiceAnswered,
    close: async () => {
      if (options.connections === undefined) await connections.close()
    },
  }
}

function readOnlyError({ method, path }: ApiRequest): UserError {
  return new UserError({
    what: 'nothing is written to the service',
    why: `writing is switched off (DESKMIRROR_READ_ONLY), so ${method} ${path} was not sent`,
    next: 'set DESKMIRROR_READ_ONLY=0 (`read_only` in deskmirror.yaml), or leave it out, where writing is meant',
    exitCode: 2,
  })
}

function toHeaders(key: string, version: string): Readonly<Record<string, string>> {
  // What is wrong with it must not be said by showing it.
  if (!/^[\x21-\x7e]+$/.test(key)) throw new Error('the API key holds characters that cannot be sent in a header')
  return {
    authorization: `Bearer ${key}`,
    accept: 'application/json',
    'accept-encoding': 'gzip',
    'user-agent': `deskmirror/${version}`,
  }
}

function toRequest(baseUrl: URL, headers: Readonly<Record<string, string>>, call: ApiRequest): HttpRequest {
  const path = trimEnd(baseUrl.pathname, '/') + call.path + toQueryString(call.query ?? {})
  if (call.body === undefined) return { method: call.method, path, headers, body: null }
  const jsonHeaders = { ...headers, 'content-type': 'application/json' }
  return { method: call.method, path, headers: jsonHeaders, body: stringifyJson(call.body) }
}

function toQueryString(query: QueryParams): string {
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) if (value !== undefined) search.append(key, String(value))
  return search.size === 0 ? '' : `?${search}`
}

function outcomeFields(outcome: ApiOutcome): Readonly<Record<string, unknown>> {
  if (outcome.ok) return { status: outcome.answer.status, request_id: outcome.answer.requestId }
  return { failure: outcome.failure.kind, why: describeFailure(outcome.failure) }
}
