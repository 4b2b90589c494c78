/** Connections to the service, kept open between runs: a worker's passes are short, and a handshake is dear. */
import { type Dispatcher, Pool } from 'undici'
import type { Ms } from '../core/time.ts'

export type Connections = {
  /** `origin`: like `https://service.example`. */
  readonly forOrigin: (origin: string) => { readonly reads: Dispatcher; readonly writes: Dispatcher }
  /** Cuts whatever is under way. */
  readonly close: () => Promise<void>
}

/** As many as are asked for: what may be under way is for budgets to say, and a slot that waits for a connection is wasted. */
export function openConnections(connectTimeoutMs: Ms = 10_000): Connections {
  const pools = new Map<string, { readonly reads: Pool; readonly writes: Pool }>()
  const poolOptions = { allowH2: false, connect: { timeout: connectTimeoutMs } }
  return {
    forOrigin: (origin) => {
      const known = pools.get(origin)
      if (known !== undefined) return known
      const opened = {
        reads: new Pool(origin, poolOptions),
        // Without keep-alive: a write must not be lost on a connection that the other side was just closing.
        writes: new Pool(origin, { ...poolOptions, connections: 8, pipelining: 0 }),
      }
      pools.set(origin, opened)
      return opened
    },
    close: async () => {
      await Promise.all([...pools.values()].flatMap(({ reads, writes }) => [reads.destroy(), writes.destroy()]))
    },
  }
}
