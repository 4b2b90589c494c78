/** A way to a server of a test that can be cut and mended, as a network or a restart does. */
import { connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export type Proxy = {
  /** The server's URL, by way of the proxy. */
  readonly url: string
  /** From now on connections end, and new ones end at once. */
  readonly cut: () => void
  readonly mend: () => void
}

export async function proxyTo(url: string): Promise<Proxy> {
  const { hostname, port } = new URL(url)
  const open = new Set<Socket>()
  let whole = true
  const server = createServer((near) => {
    if (!whole) return near.destroy()
    const far = connect(Number(port), hostname)
    for (const socket of [near, far]) {
      open.add(socket)
      socket.on('error', () => {}).on('close', () => [near, far].forEach((one) => void one.destroy()))
      socket.on('close', () => open.delete(socket))
    }
    near.pipe(far).pipe(near)
  })
  const cut = () => {
    whole = false
    for (const socket of open) socket.destroy()
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    cut()
    server.close()
  })
  const address = server.address()
  const through = new URL(url)
  through.port = String(typeof address === 'object' && address !== null ? address.port : 0)
  return {
    url: through.href,
    cut,
    mend: () => {
      whole = true
    },
  }
}
