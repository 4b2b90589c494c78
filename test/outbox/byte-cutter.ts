/**
 * A TCP proxy that breaks the connection of a write at a given byte and forwards everything else.
 */

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** After this many bytes of the request or of the response, the connection is reset. */
export type Cut = { readonly side: 'request' | 'answer'; readonly after: number }

export type ByteCutter = {
  readonly port: number
  /** One cut for each new target, in the order of their first writes. A resend passes. */
  readonly cuts: Cut[]
  /** Bytes forwarded of each write and of its response. */
  readonly passed: { request: number; answer: number }[]
  /** Writes wait here before they pass. */
  gate: Promise<void> | null
  /** Paths that were written to. */
  readonly written: Set<string>
}

export async function startByteCutter(port: number): Promise<ByteCutter> {
  const cutter = {
    port: 0,
    cuts: [] as Cut[],
    passed: [] as ByteCutter['passed'],
    written: new Set<string>(),
    gate: null as ByteCutter['gate'],
  }
  const server = createServer((client) =>
    forwardWithCuts(client, connect(port, '127.0.0.1'), cutter),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const address = server.address()
  return Object.assign(cutter, { port: typeof address === 'object' ? address!.port : 0 })
}

function forwardWithCuts(client: Socket, server: Socket, cutter: ByteCutter): void {
  const { cuts, passed, written } = cutter
  let cut: Cut | null | undefined
  const count = { request: 0, answer: 0 }
  const reset = () => {
    client.resetAndDestroy()
    server.resetAndDestroy()
  }
  const forward = (side: Cut['side'], to: Socket) => async (bytes: Buffer) => {
    if (cut === undefined) {
      const [, path] = /^(?:POST|PATCH) (\S+)/.exec(bytes.toString('latin1', 0, 200)) ?? []
      const isWrite = path !== undefined
      cut = isWrite && !written.has(path) ? (cuts.shift() ?? null) : null
      if (isWrite) written.add(path)
      if (isWrite && cutter.gate !== null) await cutter.gate
      if (isWrite) passed.push(count)
      if (cut?.after === 0 && cut.side === 'request') return reset()
    }
    const left = cut?.side === side ? cut.after - count[side] : bytes.length
    count[side] += Math.min(left, bytes.length)
    to.write(bytes.subarray(0, Math.max(0, left)), () => {
      if (cut?.side === side && count[side] >= cut.after) reset()
    })
  }
  client.on('data', forward('request', server))
  server.on('data', forward('answer', client))
  for (const [from, to] of [
    [client, server],
    [server, client],
  ] as const) {
    from.on('error', () => to.destroy())
    from.on('close', () => to.destroy())
  }
}
