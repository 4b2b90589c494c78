/**
 * A TCP proxy in front of a test's server that can disconnect, like a network failure or a restart.
 */
import { connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export type TcpProxy = {
  /** The server's URL through the proxy. */
  readonly url: string
  /** Closes all connections, and new ones at once, until `restore`. */
  readonly disconnect: () => void
  readonly restore: () => void
}

export async function startTcpProxy(url: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(url)
  const open = new Set<Socket>()
  let isConnected = true
  const server = createServer((clientSocket) => {
    if (!isConnected) return clientSocket.destroy()
    const serverSocket = connect(Number(port), hostname)
    for (const socket of [clientSocket, serverSocket]) {
      open.add(socket)
      socket
        .on('error', () => {})
        .on('close', () => [clientSocket, serverSocket].forEach((end) => void end.destroy()))
      socket.on('close', () => open.delete(socket))
    }
    clientSocket.pipe(serverSocket).pipe(clientSocket)
  })
  const disconnect = () => {
    isConnected = false
    for (const socket of open) socket.destroy()
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    disconnect()
    server.close()
  })
  const address = server.address()
  const proxyUrl = new URL(url)
  proxyUrl.port = String(typeof address === 'object' && address !== null ? address.port : 0)
  return {
    url: proxyUrl.href,
    disconnect,
    restore: () => {
      isConnected = true
    },
  }
}
