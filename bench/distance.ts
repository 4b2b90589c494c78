/**
 * A first sync into a Postgres that is not next door: requests a minute with a delay on the way,
 * without a rate limit. Goals: 2,000 at 10 ms for a round trip, 700 at 30 ms.
 */
import { connect, createServer, type Socket } from 'node:net'
import { startPostgres } from '../test/support/postgres-server.ts'
import { runSync } from './command.ts'
import { createSchema } from './create-schema.ts'
import { printFigure } from './figures.ts'
import { startSandboxProcess } from './sandbox.ts'

const goals: Readonly<Record<number, string>> = { 0: '', 10: 'goal: 2,000', 30: 'goal: 700' }

const size = { messages: 20, visitors: 200, calls: 100, activity: 20, days: 5 }
const service = await startSandboxProcess(200, size)
const server = await startPostgres()
try {
  for (const [delay, goal] of Object.entries(goals)) {
    const proxy = await startDelayingProxy(server.url, Number(delay))
    const url = await createSchema(server.url, `distance_${delay}`)
    const { report } = await runSync(service, url.replace(server.url, proxy.url))
    const perMinute = (report.requests / report.tookMs) * 60_000
    printFigure(`requests a minute at ${delay} ms`, perMinute, '', goal)
    proxy.close()
  }
} finally {
  await server.stop()
  await service.stop()
}

/** Whatever is sent, either way, arrives after half of `roundTripMs`. */
async function startDelayingProxy(url: string, roundTripMs: number) {
  const { hostname, port } = new URL(url)
  const delayed = (from: Socket, to: Socket) => {
    from.on('data', (chunk) => void setTimeout(() => to.write(chunk), roundTripMs / 2))
    from.on('error', () => {}).on('close', () => void setTimeout(() => to.end(), roundTripMs / 2))
  }
  const proxy = createServer((client) => {
    const upstream = connect(Number(port), hostname).setNoDelay()
    delayed(client.setNoDelay(), upstream)
    delayed(upstream, client)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const address = proxy.address()
  const proxied = new URL(url)
  proxied.port = String(typeof address === 'object' && address !== null ? address.port : 0)
  return { url: proxied.href, close: () => proxy.close() }
}
