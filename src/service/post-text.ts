/**
 * Posts one text to an incoming webhook, as Slack, Teams and Mattermost take it. Whoever knows its
 * address can write there, so no error names it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pRetry from 'p-retry'
import { findProxy, type ProxyRule } from '../config/proxy.ts'
import type { Secret } from '../values/secret.ts'
import type { Ms } from '../values/time.ts'
import {
  type Connections,
  type ExchangeResult,
  type ResponseHead,
  sendHttpRequest,
} from './exchange.ts'
import { retryAfterMs } from './response-headers.ts'

/** `retryMs`: how long it asked to wait; 0: as soon as one likes; null: it refuses the text. */
export class NotPostedError extends Error {
  readonly retryMs: Ms | null
  constructor(message: string, retryMs: Ms | null) {
    super(message)
    this.retryMs = retryMs
  }
}

/** Shorter than a worker has to stop. */
const timeoutMs: Ms = 8000
const retries = 3
const firstRetryMs: Ms = 500
/** A longer Retry-After is left to the next time. */
const maxWaitMs: Ms = 20_000

/**
 * Resolves when it was accepted; what got no answer may have arrived, and is posted again. Throws
 * NotPostedError after the last attempt, and UserError if the proxy's address cannot be used.
 */
export async function postText(
  connections: Connections,
  { notify, proxy }: { readonly notify: Secret; readonly proxy: ProxyRule | null },
  text: string,
  signal: AbortSignal,
): Promise<void> {
  const url = new URL(notify.reveal())
  const { writes } = connections.forOrigin(url, findProxy(proxy, url))
  const request = {
    method: 'POST',
    path: `${url.pathname}${url.search}`,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text }),
  } as const
  const post = async () => {
    const result = await sendHttpRequest(writes, request, {
      timeoutMs,
      stallMs: timeoutMs,
      maxBodyBytes: 65_536,
      signal,
      canStillSend: () => true,
      onRequestStart: () => {},
      onResponseHead: () => {},
    })
    const failure = failureOf(result)
    if (failure !== null) throw failure
  }
  await pRetry(post, {
    retries,
    minTimeout: 0,
    signal,
    shouldRetry: async ({ error, retriesConsumed }) => {
      const askedMs = error instanceof NotPostedError ? error.retryMs : null
      if (askedMs === null || askedMs > maxWaitMs || retriesConsumed >= retries) return false
      const ownMs = Math.random() * firstRetryMs * 2 ** retriesConsumed
      await sleep(askedMs + ownMs, undefined, { signal })
      return true
    },
  })
}

const what = 'the address of `notify`'

/** Null: it was accepted, whatever the body says. */
function failureOf(result: ExchangeResult): NotPostedError | null {
  if (result.kind === 'aborted') return new NotPostedError('the program is stopping', null)
  if (result.kind === 'complete') return refusalOf(result.head)
  if (result.head !== null) return refusalOf(result.head)
  // Only the code of the error: its text may name the host.
  const [code = ''] = /\b[A-Z][A-Z_\d]{4,}\b/.exec(result.why) ?? []
  const through = result.proxy === undefined ? '' : ' through the proxy'
  return new NotPostedError(`${what} does not answer${through} ${code}`.trimEnd(), 0)
}

function refusalOf(head: ResponseHead): NotPostedError | null {
  const { status } = head
  if (status >= 200 && status < 300) return null
  const isPassing = status >= 500 || [408, 425, 429].includes(status)
  const retryMs = isPassing ? (retryAfterMs(head) ?? 0) : null
  return new NotPostedError(`${what} answers ${status}`, retryMs)
}
