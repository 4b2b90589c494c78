/**
 * One HTTP exchange over undici: a request, its whole response, one deadline for both. It never
 * throws, follows no redirect and retries nothing. It uses undici's `dispatch`, because `request`
 * does not report when sending starts.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { createRequire } from 'node:module'

import type { Dispatcher, Pool } from 'undici'
import type { Ms } from '../values/time.ts'
import { checkServerIdentity } from '../warehouse/server-identity.ts'
import { type BodyReader, createBodyReader } from './body-reader.ts'
import type { SplitBody, UnreadableReason } from './row-splitter.ts'

export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'PATCH'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

/**
 * `mayHaveBeenSent`: whether any byte of the request may have left this machine. `head`: that of
 * the response, null if none arrived. `isRetryable`: whether the same request may get a better
 * response.
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

/** The progress of one exchange. `controller` is set as soon as the request is being sent. */
type ExchangeState = {
  controller: Dispatcher.DispatchController | null
  head: ResponseHead | null
  body: BodyReader | null
  receivedBytes: number
  isDone: boolean
  stallTimer?: NodeJS.Timeout
}

export function sendHttpRequest(pool: Dispatcher, request: HttpRequest, options: ExchangeOptions) {
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
      finish(brokenResult(state, describeNetworkError(error)))
    }
  })
}

type ExchangeEvents = {
  readonly onSending: () => void
  readonly finish: (result: ExchangeResult) => void
  readonly finishAndAbort: (result: ExchangeResult) => void
}

function createHandler(
  state: ExchangeState,
  options: ExchangeOptions,
  events: ExchangeEvents,
): Dispatcher.DispatchHandler {
  const { onSending, finish, finishAndAbort } = events
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
      finish(brokenResult(state, describeNetworkError(error)))
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

function unreadableResult(
  state: ExchangeState,
  { why, isRetryable, isTooLarge }: UnreadableReason,
): ExchangeResult {
  return { ...brokenResult(state, why, isRetryable), ...(isTooLarge && { isTooLarge }) }
}

/** The text only: undici's errors carry sockets and headers. */
function describeNetworkError(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown network error'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  const [inner] = error instanceof AggregateError ? error.errors : []
  if (inner !== undefined && error.message === '') return describeNetworkError(inner)
  const { message } = error
  const sentence = networkErrorText(code)
  if (sentence !== undefined)
    return `${sentence} (${message.includes(code) && message.length < 100 ? message : code})`
  return message.includes(code) ? message : `${code}: ${message}`
}

/**
 * Network and TLS errors as sentences. The code is shown as well, to search for. Source:
 * nodejs.org/api/errors.html.
 */
const networkErrorTexts: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, 'nothing listens at that address'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'the connection was closed without a response'],
  [/^(ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/, 'the host does not answer'],
  [/^(EHOSTUNREACH|ENETUNREACH|ENETDOWN)$/, 'there is no route to that host'],
  [/^ENOTFOUND$/, 'the host name is unknown'],
  [/^EAI_/, 'the host name cannot be resolved'],
  [/^(EMFILE|ENFILE)$/, 'this process cannot open more files: raise its limit (ulimit -n)'],
  [/^CERT_HAS_EXPIRED$/, 'its certificate has expired'],
  [/^CERT_NOT_YET_VALID$/, "its certificate is not valid yet: is this machine's clock right?"],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, 'its certificate is for another host'],
  [
    /SELF_SIGNED_CERT|^UNABLE_TO_(VERIFY|GET)|^CERT_UNTRUSTED$/,
    'its certificate is not signed by an authority that this machine trusts; NODE_EXTRA_CA_CERTS=FILE adds one',
  ],
  [
    /^(ERR_SSL_|EPROTO)/,
    'the server does not speak HTTPS correctly: is it plain HTTP, or a proxy?',
  ],
  [/^HPE_|^HTTPParserError$/, 'the server does not speak HTTP: is the port right?'],
]

/** Undefined for an unknown code: then the library's own message is shown. */
export function networkErrorText(code: string): string | undefined {
  return networkErrorTexts.find(([pattern]) => pattern.test(code))?.[1]
}

// Only this part: the whole loads fetch, WebSocket and caches, too, four times as many files.
const UndiciPool: typeof Pool = createRequire(import.meta.url)('undici/lib/dispatcher/pool.js')

export type Connections = {
  /** `origin`: like `https://service.example`. */
  readonly forOrigin: (origin: string) => {
    readonly reads: Dispatcher
    readonly writes: Dispatcher
  }
  /** Aborts all exchanges under way. */
  readonly close: () => Promise<void>
}

/** Unlimited: the budget limits concurrency, and a slot that waits for a connection is wasted. */
export function openConnections(connectTimeoutMs: Ms = 10_000): Connections {
  const pools = new Map<string, { readonly reads: Pool; readonly writes: Pool }>()
  const poolOptions = {
    allowH2: false,
    connect: { timeout: connectTimeoutMs, checkServerIdentity },
  }
  return {
    forOrigin: (origin) => {
      const known = pools.get(origin)
      if (known !== undefined) return known
      const opened = {
        reads: new UndiciPool(origin, poolOptions),
        // Without keep-alive: a write must not be lost on a connection that the server is just
        // closing.
        writes: new UndiciPool(origin, { ...poolOptions, connections: 8, pipelining: 0 }),
      }
      pools.set(origin, opened)
      return opened
    },
    close: async () => {
      await Promise.all(
        [...pools.values()].flatMap(({ reads, writes }) => [reads.destroy(), writes.destroy()]),
      )
    },
  }
}
