/** Connections to the service, kept open between sync runs: a worker's runs are short, and handshakes are expensive. */
import { createRequire } from 'node:module'
import type { Dispatcher, Pool } from 'undici'
import type { Ms } from '../values/time.ts'

// Only this part: the whole loads fetch, WebSocket and caches, too, four times as many files.
const UndiciPool: typeof Pool = createRequire(import.meta.url)('undici/lib/dispatcher/pool.js')

export type Connections = {
  /** `origin`: like `https://service.example`. */
  readonly forOrigin: (origin: string) => { readonly reads: Dispatcher; readonly writes: Dispatcher }
  /** Aborts all exchanges under way. */
  readonly close: () => Promise<void>
}

/** Unlimited: the budget limits concurrency, and a slot that waits for a connection is wasted. */
export function openConnections(connectTimeoutMs: Ms = 10_000): Connections {
  const pools = new Map<string, { readonly reads: Pool; readonly writes: Pool }>()
  const poolOptions = { allowH2: false, connect: { timeout: connectTimeoutMs } }
  return {
    forOrigin: (origin) => {
      const known = pools.get(origin)
      if (known !== undefined) return known
      const opened = {
        reads: new UndiciPool(origin, poolOptions),
        // Without keep-alive: a write must not be lost on a connection that the server is just closing.
        writes: new UndiciPool(origin, { ...poolOptions, connections: 8, pipelining: 0 }),
      }
      pools.set(origin, opened)
      return opened
    },
    close: async () => {
      await Promise.all([...pools.values()].flatMap(({ reads, writes }) => [reads.destroy(), writes.destroy()]))
    },
  }
}
