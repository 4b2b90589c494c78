/**
 * One HTTP exchange over undici: a request, its whole answer, a deadline for both. It never throws, follows no redirect
 * and tries nothing twice. undici's `dispatch` and not its `request`, because only the former tells when the request
 * began to leave.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { Ms } from '../core/time.ts'
import { type BodyReader, readBody } from './body.ts'
import { networkSentence } from './network-words.ts'
import type { Scanned } from './scan.ts'

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
export type Exchange =
  | { readonly kind: 'answered'; readonly head: Head; readonly body: Scanned }
  | {
      readonly kind: 'broken'
      readonly why: string
      readonly left: boolean
      readonly head: Head | null
      readonly again: boolean
    }
  | { readonly kind: 'aborted'; readonly left: boolean }

export type Head = { readonly status: number; readonly headers: IncomingHttpHeaders }

export type Terms = {
  readonly timeoutMs: Ms
  /** An answer of which less than `leastBytes` came in so long is given up. */
  readonly stallMs: Ms
  readonly maxBodyBytes: number
  readonly signal: AbortSignal
  /** Asked in the very moment before it leaves. */
  readonly mayLeave: () => boolean
  /** The request begins to leave. */
  readonly onStart: () => void
  /** The answer's head is here: whatever the service counts, it has counted. */
  readonly onHead: () => void
}

/** A connection that brings less than this in `stallMs` brings nothing of use. */
const leastBytes = 4096

export function exchange(pool: Dispatcher, request: HttpRequest, terms: Terms): Promise<Exchange> {
  return new Promise((resolve) => {
    let controller: Dispatcher.DispatchController | null = null
    let head: Head | null = null
    let done = false
    let body: BodyReader | null = null
    let size = 0

    const end = (result: Exchange) => {
      if (done) return
      done = true
      clearTimeout(deadline)
      clearInterval(stall)
      terms.signal.removeEventListener('abort', stop)
      resolve(result)
    }
    const give = (result: Exchange) => {
      end(result)
      controller?.abort(new Error('given up'))
    }
    const broken = (why: string, again = true): Exchange => {
      return { kind: 'broken', why, left: controller !== null, head, again }
    }
    const stop = () => give({ kind: 'aborted', left: controller !== null })
    const deadline = setTimeout(() => give(broken(`no whole answer within ${terms.timeoutMs} ms`)), terms.timeoutMs)
    let before = 0
    const watch = () => {
      if (size - before < leastBytes)
        give(broken(`the answer came too slowly: ${size - before} bytes in ${terms.stallMs} ms`))
      before = size
    }
    let stall: NodeJS.Timeout | undefined
    terms.signal.addEventListener('abort', stop, { once: true })
    if (terms.signal.aborted) return stop()

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        // Given up while it still waited for a connection: nothing leaves.
        if (done) return started.abort(new Error('given up'))
        if (!terms.mayLeave()) {
          end(broken('this process was stopped for so long that its turn to send was over'))
          return started.abort(new Error('given up'))
        }
        controller = started
        // A write that leaves is seen to its end: cut off, nobody would know whether the service did it.
        if (request.method !== 'GET') terms.signal.removeEventListener('abort', stop)
        terms.onStart()
      },
      onResponseStart(_controller, status, headers) {
        if (status < 200 || done) return
        head = { status, headers }
        body = readBody(String(headers['content-encoding'] ?? ''), terms.maxBodyBytes)
        stall = setInterval(watch, terms.stallMs)
        terms.onHead()
      },
      onResponseData(_controller, chunk) {
        size += chunk.length
        const unreadable = done ? null : (body?.write(chunk) ?? null)
        if (unreadable !== null) give(broken(unreadable.why, unreadable.again))
      },
      async onResponseEnd() {
        clearInterval(stall)
        const read = await body?.end()
        if (head === null || read === undefined) end(broken('no answer'))
        else end(read.ok ? { kind: 'answered', head, body: read.scanned } : broken(read.why, read.again))
      },
      onResponseError(_controller, error) {
        end(broken(reason(error)))
      },
    }
    try {
      pool.dispatch({ ...request, headersTimeout: 0, bodyTimeout: 0 }, handler)
    } catch (error) {
      end(broken(reason(error)))
    }
  })
}

/** The reason without the error itself: undici's errors carry sockets and headers. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown network error'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  const [first] = error instanceof AggregateError ? error.errors : []
  if (first !== undefined && error.message === '') return reason(first)
  const { message } = error
  const sentence = networkSentence(code)
  if (sentence !== undefined) return `${sentence} (${message.includes(code) && message.length < 100 ? message : code})`
  return message.includes(code) ? message : `${code}: ${message}`
}
