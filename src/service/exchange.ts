/**
 * One HTTP exchange over undici, with one deadline. It never throws, follows no redirect and
 * retries nothing. By `dispatch`, as `request` does not report when sending starts.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { createRequire } from 'node:module'

import type { Dispatcher, Pool } from 'undici'
import type { HttpProxy } from '../config/proxy.ts'
import type { Ms } from '../values/time.ts'
import { checkServerIdentity } from '../warehouse/server-identity.ts'
import { type BodyReader, createBodyReader } from './body-reader.ts'
import type { ProxyProblem } from './core/api-failure.ts'
import type { ApiRequest } from './core/api-request.ts'
import { describeNetworkError } from './network-errors.ts'
import { createTunnelConnector, ProxyError } from './proxy-tunnel.ts'
import type { SplitBody, UnreadableReason } from './row-splitter.ts'

/**
 * `mayHaveBeenSent`: any byte may have left this machine. `head`: null if none arrived.
 * `isRetryable`: the same request may get a better response.
 */
export type ExchangeResult =
  | { readonly kind: 'complete'; readonly head: ResponseHead; readonly body: SplitBody }
  | {
      readonly kind: 'broken'
      readonly why: string
      readonly mayHaveBeenSent: boolean
      readonly head: ResponseHead | null
      readonly isRetryable: boolean
      /** The body was longer than any that is read. */
      readonly isTooLarge?: true
      /** There was no connection through the proxy. */
      readonly proxy?: ProxyProblem
    }
  | { readonly kind: 'aborted'; readonly mayHaveBeenSent: boolean }

export type ResponseHead = { readonly status: number; readonly headers: IncomingHttpHeaders }

type ExchangeOptions = {
  readonly timeoutMs: Ms
  /** A response of which less than `minStallBytes` arrive in this time is aborted. */
  readonly stallMs: Ms
  readonly maxBodyBytes: number
  readonly signal: AbortSignal
  /** Called immediately before the request is sent. */
  readonly canStillSend: () => boolean
  readonly onRequestStart: () => void
  /** The response's head arrived: the service has counted the request. */
  readonly onResponseHead: () => void
}

const minStallBytes = 4096

/** `controller` is set as soon as the request is being sent. */
type ExchangeState = {
  controller: Dispatcher.DispatchController | null
  head: ResponseHead | null
  body: BodyReader | null
  receivedBytes: number
  isDone: boolean
  stallTimer?: NodeJS.Timeout
}

export function sendHttpRequest(
  pool: Dispatcher,
  request: {
    readonly method: ApiRequest['method']
    readonly path: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string | null
  },
  options: ExchangeOptions,
) {
  return new Promise<ExchangeResult>((resolve) => {
    const state: ExchangeState = {
      controller: null,
      head: null,
      body: null,
      receivedBytes: 0,
      isDone: false,
    }
    const finish = (result: ExchangeResult) => {
      if (state.isDone) return
      state.isDone = true
      clearTimeout(deadline)
      clearInterval(state.stallTimer)
      options.signal.removeEventListener('abort', onAbort)
      resolve(result)
    }
    const finishAndAbort = (result: ExchangeResult) => {
      finish(result)
      state.controller?.abort(new Error('given up'))
    }
    const onAbort = () =>
      finishAndAbort({ kind: 'aborted', mayHaveBeenSent: state.controller !== null })
    const onDeadline = () =>
      finishAndAbort(brokenResult(state, `no complete response within ${options.timeoutMs} ms`))
    const deadline = setTimeout(onDeadline, options.timeoutMs)
    options.signal.addEventListener('abort', onAbort, { once: true })
    if (options.signal.aborted) return onAbort()
    // A write that is being sent is not aborted: it would be unknown whether the service did it.
    const onSending = () => {
      if (request.method !== 'GET') options.signal.removeEventListener('abort', onAbort)
    }
    try {
      const handler = createHandler(state, options, { onSending, finish, finishAndAbort })
      pool.dispatch({ ...request, headersTimeout: 0, bodyTimeout: 0 }, handler)
    } catch (error) {
      finish(failedResult(state, error))
    }
  })
}

function createHandler(
  state: ExchangeState,
  options: ExchangeOptions,
  {
    onSending,
    finish,
    finishAndAbort,
  }: {
    readonly onSending: () => void
    readonly finish: (result: ExchangeResult) => void
    readonly finishAndAbort: (result: ExchangeResult) => void
  },
): Dispatcher.DispatchHandler {
  return {
    onRequestStart(controller) {
      // Aborted while it still waited for a connection: nothing is sent.
      if (state.isDone) return controller.abort(new Error('given up'))
      if (!options.canStillSend()) {
        finish(brokenResult(state, 'this process was suspended for so long that its slot expired'))
        return controller.abort(new Error('given up'))
      }
      state.controller = controller
      onSending()
      options.onRequestStart()
    },
    onResponseStart(_controller, status, headers) {
      if (status < 200 || state.isDone) return
      state.head = { status, headers }
      state.body = createBodyReader(String(headers['content-encoding'] ?? ''), options.maxBodyBytes)
      state.stallTimer = startStallCheck(state, options.stallMs, finishAndAbort)
      options.onResponseHead()
    },
    onResponseData(_controller, chunk) {
      state.receivedBytes += chunk.length
      const unreadable = state.isDone ? null : (state.body?.write(chunk) ?? null)
      if (unreadable !== null) finishAndAbort(unreadableResult(state, unreadable))
    },
    async onResponseEnd() {
      clearInterval(state.stallTimer)
      const read = await state.body?.end()
      if (state.head === null || read === undefined) finish(brokenResult(state, 'no response'))
      else if (read.ok) finish({ kind: 'complete', head: state.head, body: read.splitBody })
      else finish(unreadableResult(state, read))
    },
    onResponseError(_controller, error) {
      finish(failedResult(state, error))
    },
  }
}

function startStallCheck(
  state: ExchangeState,
  stallMs: Ms,
  onStalled: (result: ExchangeResult) => void,
) {
  let bytesBefore = 0
  return setInterval(() => {
    const bytes = state.receivedBytes - bytesBefore
    const why = `the response came too slowly: ${bytes} bytes in ${stallMs} ms`
    if (bytes < minStallBytes) onStalled(brokenResult(state, why))
    bytesBefore = state.receivedBytes
  }, stallMs)
}

function brokenResult({ controller, head }: ExchangeState, why: string, isRetryable = true) {
  return { kind: 'broken', why, mayHaveBeenSent: controller !== null, head, isRetryable } as const
}

function failedResult(state: ExchangeState, error: unknown): ExchangeResult {
  if (error instanceof ProxyError)
    return { ...brokenResult(state, error.message), proxy: error.problem }
  return brokenResult(state, describeNetworkError(error))
}

function unreadableResult(
  state: ExchangeState,
  { why, isRetryable, isTooLarge }: UnreadableReason,
): ExchangeResult {
  return { ...brokenResult(state, why, isRetryable), ...(isTooLarge && { isTooLarge }) }
}

// Only this part: the whole loads fetch, WebSocket and caches, too, four times as many files.
const UndiciPool: typeof Pool = createRequire(import.meta.url)('undici/lib/dispatcher/pool.js')

export type Connections = {
  readonly forOrigin: (
    url: URL,
    proxy: HttpProxy | null,
  ) => {
    readonly reads: Dispatcher
    readonly writes: Dispatcher
  }
  /** Aborts all exchanges under way. */
  readonly close: () => Promise<void>
}

/** Unlimited: the budget limits concurrency, and a slot that waits for a connection is wasted. */
export function openConnections(connectTimeoutMs: Ms = 10_000): Connections {
  const pools = new Map<string, { readonly reads: Pool; readonly writes: Pool }>()
  return {
    forOrigin: ({ origin }, proxy) => {
      const key = [origin, proxy?.isTls, proxy?.name, proxy?.authorization?.reveal()].join(' ')
      const known = pools.get(key)
      if (known !== undefined) return known
      const direct = { timeout: connectTimeoutMs, checkServerIdentity }
      const connect = proxy === null ? direct : createTunnelConnector(proxy, connectTimeoutMs)
      const poolOptions = { allowH2: false, connect }
      const opened = {
        reads: new UndiciPool(origin, poolOptions),
        // Without keep-alive: a write must not be lost on a connection that the server closes.
        writes: new UndiciPool(origin, { ...poolOptions, connections: 8, pipelining: 0 }),
      }
      pools.set(key, opened)
      return opened
    },
    close: async () => {
      await Promise.all(
        [...pools.values()].flatMap(({ reads, writes }) => [reads.destroy(), writes.destroy()]),
      )
    },
  }
}
