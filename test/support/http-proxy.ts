/**
 * An HTTP proxy on loopback that opens tunnels (CONNECT), and misbehaves as a test says. Every host
 * is the same server behind it, so that tests have a service whose name is not this machine's.
 */
import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createServer as createTlsTcpServer } from 'node:tls'
import { onTestFinished } from 'vitest'
import type { KeyPair } from './tls.ts'

/**
 * Where a tunnel is cut: when the n-th piece of one direction arrives, before or after it is passed
 * on. `request`: at the CONNECT, without an answer.
 */
export type TunnelCut =
  | { readonly at: 'request' | 'answer' }
  | {
      readonly at: 'piece'
      readonly from: 'client' | 'server'
      readonly n: number
      readonly isPassedOn: boolean
    }

export type ProxyOptions = {
  /** What every host is. */
  readonly port: number
  /** `user:password`. */
  readonly user?: string
  /** Instead of a tunnel. */
  readonly answer?: { readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  /** The proxy itself speaks TLS. */
  readonly tls?: KeyPair
  /** Of the n-th tunnel, from 0; null: it is not cut. */
  readonly cutOf?: (tunnel: number) => TunnelCut | null
}

export type TestProxy = {
  readonly port: number
  /** The targets of all CONNECTs, and whether they came with the right password. */
  readonly targets: readonly string[]
  /** Requests that were no CONNECT. */
  readonly others: () => number
}

export async function startHttpProxy(options: ProxyOptions): Promise<TestProxy> {
  const targets: string[] = []
  const open = new Set<Duplex>()
  let others = 0
  const onRequest = () => {
    others += 1
  }
  const { tls } = options
  const server = tls === undefined ? createServer(onRequest) : createTlsServer(tls, onRequest)
  server.on('connect', (request: IncomingMessage, client: Duplex) => {
    const cut = options.cutOf?.(targets.length) ?? null
    targets.push(request.url ?? '')
    keep(client, open)
    if (cut?.at === 'request') return void client.destroy()
    const given = String(request.headers['proxy-authorization'] ?? '').replace(/^Basic /, '')
    if (options.user !== undefined && Buffer.from(given, 'base64').toString() !== options.user)
      return refuse(client, 407, { 'Proxy-Authenticate': 'Basic realm="office"' }, given)
    if (options.answer !== undefined)
      return refuse(client, options.answer.status, options.answer.headers ?? {}, given)
    const upstream = connect(options.port, '127.0.0.1')
    keep(upstream, open)
    for (const [one, other] of [[client, upstream] as const, [upstream, client] as const])
      one.on('close', () => void other.destroy())
    client.write('HTTP/1.1 200 Connection established\r\n\r\n')
    if (cut?.at === 'answer') return void client.end()
    relay(client, upstream, cut?.at === 'piece' && cut.from === 'client' ? cut : null)
    relay(upstream, client, cut?.at === 'piece' && cut.from === 'server' ? cut : null)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => {
    for (const socket of open) socket.destroy()
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, targets, others: () => others }
}

function keep(socket: Duplex, open: Set<Duplex>): void {
  open.add(socket)
  socket.on('error', () => {}).on('close', () => open.delete(socket))
}

/** It repeats what it was sent, as a proxy may do. */
function refuse(
  client: Duplex,
  status: number,
  headers: Readonly<Record<string, string>>,
  given: string,
): void {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  client.end(`HTTP/1.1 ${status} You sent ${given}\r\n${lines.join('')}\r\n${given}`)
}

function relay(
  from: Duplex,
  to: Duplex,
  cut: { readonly n: number; readonly isPassedOn: boolean } | null,
): void {
  let pieces = 0
  from.on('data', (piece: Buffer) => {
    const isCut = cut !== null && pieces === cut.n
    pieces += 1
    if (!isCut) return void to.write(piece)
    if (!cut.isPassedOn) return void from.destroy()
    to.write(piece, () => from.destroy())
  })
}

/** TLS in front of a server on loopback. Returns its port. */
export async function startTlsFront(port: number, pair: KeyPair): Promise<number> {
  const open = new Set<Duplex>()
  const server = createTlsTcpServer(pair, (client) => {
    const inner: Socket = connect(port, '127.0.0.1')
    for (const socket of [client, inner]) keep(socket, open)
    client.on('close', () => void inner.destroy())
    client.pipe(inner).pipe(client)
  })
  server.on('tlsClientError', () => {})
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}
