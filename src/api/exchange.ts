/**
 * One HTTP exchange over undici: a request, its whole answer, one deadline for both. It never throws, follows no redirect
 * and retries nothing. It uses undici's `dispatch`, because `request` does not report when sending starts.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { Ms } from '../core/time.ts'
import { type BodyReader, createBodyReader } from './body.ts'
import { networkErrorText } from './network-error-text.ts'
import type { SplitBody } from './row-batches.ts'

export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'PATCH'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

/**
 * `mayHaveBeenSent`: whether any byte of the request may have left this machine. `head`: that of the answer, null where
 * none arrived. `isRetryable`: whether the same request may get a better answer.
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
  /** An answer of which less than `minStallBytes` arrive in this time is aborted. */
  readonly stallMs: Ms
  readonly maxBodyBytes: number
  readonly signal: AbortSignal
  /** Called immediately before the request is sent. */
  readonly canStillSend: () => boolean
  /** The request is being sent. */
  readonly onRequestStart: () => void
  /** The answer's head arrived: the service has counted the request. */
  readonly onResponseHead: () => void
}

const minStallBytes = 4096

export function sendHttpRequest(
  pool: Dispatcher,
  request: HttpRequest,
  options: ExchangeOptions,
): Promise<ExchangeResult> {
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
    const deadline = setTimeout(
      () => finishAndAbort(brokenResult(`no complete answer within ${options.timeoutMs} ms`)),
      options.timeoutMs,
    )
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
        // Aborted while it still waited for a connection: nothing is sent.
        if (done) return started.abort(new Error('given up'))
        if (!options.canStillSend()) {
          finish(brokenResult('this process was suspended for so long that its slot expired'))
          return started.abort(new Error('given up'))
        }
        controller = started
        // A write that is being sent is not aborted: it would be unknown whether the service did it.
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
        else
          finish(read.ok ? { kind: 'answered', head, body: read.splitBody } : brokenResult(read.why, read.isRetryable))
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

/** The text only: undici's errors carry sockets and headers. */
function describeNetworkError(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown network error'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  const [inner] = error instanceof AggregateError ? error.errors : []
  if (inner !== undefined && error.message === '') return describeNetworkError(inner)
  const { message } = error
  const sentence = networkErrorText(code)
  if (sentence !== undefined) return `${sentence} (${message.includes(code) && message.length < 100 ? message : code})`
  return message.includes(code) ? message : `${code}: ${message}`
}
