/** What tells the backends apart: how BullMQ reaches its store, and how that is opened, asked and closed. */
import type { BackendFactory, IQueueBackend } from 'bullmq'
import type { Ms } from '../../src/core/time.ts'
import type { Logger } from '../../src/log.ts'

export type BackendKind = 'redis' | 'postgres' | 'embedded'

/** The connection is in the factory; what BullMQ is given as one is only a name, since it insists on something. */
export type BullBackendFactory = BackendFactory<IQueueBackend, BackendKind>

export type StoreConnection = {
  readonly kind: BackendKind
  /** Sentences for a person about what works but should be changed. */
  readonly warnings: readonly string[]
  readonly factory: BullBackendFactory
  /** In front of all keys, where the store is shared by name; null where it has a place of its own. */
  readonly prefix: string | null
  /** Makes room for one more worker, which keeps a connection for as long as it runs. */
  readonly reserveConnection: () => void
  /** A job that is about to be delayed will be the last of those that are waiting now. */
  readonly sendToBack: (queue: string, jobId: string) => Promise<void>
  /** Does this while no other process does such work. */
  readonly runExclusively: (work: () => Promise<void>) => Promise<void>
  /** Rejects within seconds when the store does not answer. */
  readonly ping: () => Promise<void>
  /** After all queues and workers. */
  readonly close: () => Promise<void>
}

export type StoreOptions = {
  /** Where the embedded store keeps its files. */
  readonly folder: string
  /** Whose keys or schema. */
  readonly prefix: string
  readonly log: Logger
  /** How long a server may be away at the start. */
  readonly connectTimeoutMs: Ms
  /** How long a server may take to answer those who add jobs; it may restart meanwhile. */
  readonly requestTimeoutMs: Ms
  /** The store is gone for good: this process had better end and be started again. */
  readonly onFatal: (error: Error) => void
}
