/** A wire that breaks where it is told: passes everything on to a server, but for writes, which it cuts at a byte. */

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** After so many bytes of the request, or of the answer, nothing more passes either way. */
export type Cut = { readonly side: 'request' | 'answer'; readonly after: number }

export type ByteCutter = {
  readonly port: number
  /** One for each of the next targets, in the order in which they are first written to. Whatever is sent again passes. */
  readonly cuts: Cut[]
  /** Bytes of each write and of its answer that passed whole. */
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
  const server = createServer((client) => forwardWithCuts(client, connect(port, '127.0.0.1'), cutter))
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
  const break_ = () => {
    client.resetAndDestroy()
    server.resetAndDestroy()
  }
  const pass = (side: Cut['side'], to: Socket) => async (bytes: Buffer) => {
    if (cut === undefined) {
      const [, path] = /^(?:POST|PATCH) (\S+)/.exec(bytes.toString('latin1', 0, 200)) ?? []
      const isWrite = path !== undefined
      cut = isWrite && !written.has(path) ? (cuts.shift() ?? null) : null
      if (isWrite) written.add(path)
      if (isWrite && cutter.gate !== null) await cutter.gate
      if (isWrite) passed.push(count)
      if (cut?.after === 0 && cut.side === 'request') return break_()
    }
    const left = cut?.side === side ? cut.after - count[side] : bytes.length
    count[side] += Math.min(left, bytes.length)
    to.write(bytes.subarray(0, Math.max(0, left)), () => {
      if (cut?.side === side && count[side] >= cut.after) break_()
    })
  }
  client.on('data', pass('request', server))
  server.on('data', pass('answer', client))
  for (const [one, other] of [
    [client, server],
    [server, client],
  ] as const) {
    one.on('error', () => other.destroy())
    one.on('close', () => other.destroy())
  }
}
