/**
 * One HTTP exchange over undici: a request, its whole answer, a deadline for both. It never throws, follows no redirect
 * and tries nothing twice. undici's `dispatch` and not its `request`, because only the former tells when the request
 * began to leave.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { Ms } from '../core/time.ts'
import { type BodyReader, createBodyReader } from './body.ts'
import { networkErrorText } from './network-error-text.ts'
import type { SplitBody } from './row-splitter.ts'

export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'PATCH'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

/**
 * `left`: whether any byte of the request may have left this machine. `head`: the answer's, as far as it came. `again`:
 * whether the same request may be answered better.
 */
export type ExchangeResult =
  | { readonly kind: 'answered'; readonly head: ResponseHead; readonly body: SplitBody }
  | {
      readonly kind: 'broken'
      readonly why: string
      readonly mayHaveBeenSent: boolean
      readonly head: ResponseHead | null
      readonly isRetryable: boolean
    }
  | { readonly kind: 'aborted'; readonly mayHaveBeenSent: boolean }

export type ResponseHead = { readonly status: number; readonly headers: IncomingHttpHeaders }

export type ExchangeOptions = {
  readonly timeoutMs: Ms
  /** An answer of which less than `leastBytes` came in so long is given up. */
  readonly stallMs: Ms
  readonly maxBodyBytes: number
  readonly signal: AbortSignal
  /** Asked in the very moment before it leaves. */
  readonly canStillSend: () => boolean
  /** The request begins to leave. */
  readonly onRequestStart: () => void
  /** The answer's head is here: whatever the service counts, it has counted. */
  readonly onResponseHead: () => void
}

/** A connection that brings less than this in `stallMs` brings nothing of use. */
const minStallBytes = 4096

export function sendHttpRequest(pool: Dispatcher, request: HttpRequest, options: ExchangeOptions): Promise<ExchangeResult> {
  return new Promise((resolve) => {
    let controller: Dispatcher.DispatchController | null = null
    let head: ResponseHead | null = null
    let done = false
    let body: BodyReader | null = null
    let size = 0

    const finish = (result: ExchangeResult) => {
      if (done) return
      done = true
      clearTimeout(deadline)
      clearInterval(stall)
      options.signal.removeEventListener('abort', onAbort)
      resolve(result)
    }
    const finishAndAbort = (result: ExchangeResult) => {
      finish(result)
      controller?.abort(new Error('given up'))
    }
    const brokenResult = (why: string, isRetryable = true): ExchangeResult => {
      return { kind: 'broken', why, mayHaveBeenSent: controller !== null, head, isRetryable }
    }
    const onAbort = () => finishAndAbort({ kind: 'aborted', mayHaveBeenSent: controller !== null })
    const deadline = setTimeout(() => finishAndAbort(brokenResult(`no whole answer within ${options.timeoutMs} ms`)), options.timeoutMs)
    let sizeBefore = 0
    const checkStall = () => {
      if (size - sizeBefore < minStallBytes)
        finishAndAbort(brokenResult(`the answer came too slowly: ${size - sizeBefore} bytes in ${options.stallMs} ms`))
      sizeBefore = size
    }
    let stall: NodeJS.Timeout | undefined
    options.signal.addEventListener('abort', onAbort, { once: true })
    if (options.signal.aborted) return onAbort()

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        // Given up while it still waited for a connection: nothing leaves.
        if (done) return started.abort(new Error('given up'))
        if (!options.canStillSend()) {
          finish(brokenResult('this process was stopped for so long that its turn to send was over'))
          return started.abort(new Error('given up'))
        }
        controller = started
        // A write that leaves is seen to its end: cut off, nobody would know whether the service did it.
        if (request.method !== 'GET') options.signal.removeEventListener('abort', onAbort)
        options.onRequestStart()
      },
      onResponseStart(_controller, status, headers) {
        if (status < 200 || done) return
        head = { status, headers }
        body = createBodyReader(String(headers['content-encoding'] ?? ''), options.maxBodyBytes)
        stall = setInterval(checkStall, options.stallMs)
        options.onResponseHead()
      },
      onResponseData(_controller, chunk) {
        size += chunk.length
        const unreadable = done ? null : (body?.write(chunk) ?? null)
        if (unreadable !== null) finishAndAbort(brokenResult(unreadable.why, unreadable.isRetryable))
      },
      async onResponseEnd() {
        clearInterval(stall)
        const read = await body?.end()
        if (head === null || read === undefined) finish(brokenResult('no answer'))
        else finish(read.ok ? { kind: 'answered', head, body: read.splitBody } : brokenResult(read.why, read.isRetryable))
      },
      onResponseError(_controller, error) {
        finish(brokenResult(describeNetworkError(error)))
      },
    }
    try {
      pool.dispatch({ ...request, headersTimeout: 0, bodyTimeout: 0 }, handler)
    } catch (error) {
      finish(brokenResult(describeNetworkError(error)))
    }
  })
}

/** The reason without the error itself: undici's errors carry sockets and headers. */
function describeNetworkError(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown network error'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  const [first] = error instanceof AggregateError ? error.errors : []
  if (first !== undefined && error.message === '') return describeNetworkError(first)
  const { message } = error
  const sentence = networkErrorText(code)
  if (sentence !== undefined) return `${sentence} (${message.includes(code) && message.length < 100 ? message : code})`
  return message.includes(code) ? message : `${code}: ${message}`
}
