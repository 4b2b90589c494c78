/** A running HTTP server of the worker on loopback, and a client for it. */
import { request } from 'node:http'
import { onTestFinished } from 'vitest'
import { type HttpServerOptions, openHttpServer } from '../../src/http/server.ts'
import { createLog, type Logger } from '../../src/log.ts'
import { secret } from '../../src/values/secret.ts'

export const token = 'a:token-with-a-colon'
export const tokenOptions = { token: secret(token) }

/** A log that keeps its lines. */
export function captureLog(): { readonly log: Logger; readonly lines: string[] } {
  const lines: string[] = []
  const write = (line: string) => void lines.push(line)
  return { log: createLog({ level: 'info', pretty: false, secrets: [token], write }), lines }
}

export type TestResponse = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}
export type TestRequest = {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

/** Opens a server that is closed when the test ends. */
export async function startTestServer(over: Partial<HttpServerOptions> = {}) {
  const http = await openHttpServer({
    host: '127.0.0.1',
    port: 0,
    token: null,
    health: { isAlive: () => true, checkReadiness: async () => [] },
    metrics: { contentType: 'text/plain; version=0.0.4', text: async () => 'measured 1\n' },
    log: captureLog().log,
    ...over,
  })
  onTestFinished(http.close)
  return {
    ...http,
    ask: (path: string, options?: TestRequest) => ask(http.address + path, options),
  }
}

/** Not `fetch`, which does not allow a custom `Host`. */
export function ask(
  url: string,
  { method = 'GET', headers = {}, body }: TestRequest = {},
): Promise<TestResponse> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }),
      )
    })
    sent.on('error', reject).end(body)
  })
}
