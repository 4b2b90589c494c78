/** Connections to a database that does not answer yet: each request for one tries to open it, until that succeeds. */
import type { ConnectionPool } from './connection-pool.ts'

export type DeferredPool = ConnectionPool & { readonly isOpen: () => boolean }

/** `open`: with this version's schema. What it rejects with, `acquire` rejects with. */
export function deferPool(kind: ConnectionPool['kind'], open: () => Promise<ConnectionPool>): DeferredPool {
  let opening: Promise<ConnectionPool> | null = null
  let [isOpen, isClosed] = [false, false]
  const openOnce = async (): Promise<ConnectionPool> => {
    // Nothing would close it again.
    if (isClosed && opening === null) throw new Error('the database is closed')
    opening ??= open().then(
      (pool) => {
        isOpen = true
        return pool
      },
      (error: unknown) => {
        opening = null
        throw error
      },
    )
    return opening
  }
  return {
    kind,
    isOpen: () => isOpen,
    acquire: async () => (await openOnce()).acquire(),
    openSeparate: () => deferPool(kind, async () => (await openOnce()).openSeparate()),
    close: async () => {
      isClosed = true
      await (await opening?.catch(() => null))?.close()
    },
  }
}
