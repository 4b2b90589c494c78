/** An incoming webhook on loopback, as a channel of a team has one. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { secret } from '../../src/values/secret.ts'

type Answer = {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** When all of the text has arrived. */
  readonly before?: () => void
}

export const channelPath = '/services/T0/B0/s3cr3t?sig=abc'

/** What was posted, and the answers to come; then 200. */
export async function startChannel(...answers: Answer[]) {
  const texts: string[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    const { status, headers, before } = answers.shift() ?? { status: 200 }
    if (request.url === channelPath && status === 200) texts.push(JSON.parse(body).text)
    before?.()
    response.writeHead(status, headers).end('ok')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return { texts, answers, notify: secret(`http://127.0.0.1:${port}${channelPath}`) }
}
