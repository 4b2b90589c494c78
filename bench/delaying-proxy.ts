/** A database that is not next door. */
import { connect, createServer, type Socket } from 'node:net'

/** Whatever is sent, either way, arrives after half of `roundTripMs`. */
export async function startDelayingProxy(url: string, roundTripMs: number) {
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
