/** What differs between the backends: how BullMQ connects to its store, and how that is opened, pinged and closed. */
import type { BackendFactory, IQueueBackend } from 'bullmq'
import type { Ms } from '../../src/values/time.ts'
import type { Backend, BackendKind } from './backend.ts'

/** The factory holds the connection; BullMQ insists on a connection option, so it gets the kind's name. */
export type BullBackendFactory = BackendFactory<IQueueBackend, BackendKind>

export type StoreConnection = {
  readonly kind: Exclude<BackendKind, 'embedded'>
  /** Sentences for people about what works but should be changed. */
  readonly warnings: readonly string[]
  readonly factory: BullBackendFactory
  /** The prefix of all keys if other programs share the store; null if the store has a schema of its own. */
  readonly prefix: string | null
  /** Raises the connection limit for one more worker, which holds a connection as long as it runs. */
  readonly reserveConnection: () => void
  /** Moves a job that is about to be delayed behind all that wait now. */
  readonly sendToBack: (queue: string, jobId: string) => Promise<void>
  /** Runs `work` while no other process runs such work. */
  readonly runExclusively: (work: () => Promise<void>) => Promise<void>
  readonly resumeStep: Backend['resumeStep']
  /** Rejects within seconds when the store does not answer, or refuses writes. */
  readonly ping: () => Promise<void>
  /** To be called after all queues and workers are closed. */
  readonly close: () => Promise<void>
}

export type StoreOptions = {
  /** Prefix of the keys, or of the schema's name. */
  readonly prefix: string
  /** How long to wait for the server at the start. */
  readonly connectTimeoutMs: Ms
  /** How long the server may take to respond when jobs are added; it may restart meanwhile. */
  readonly requestTimeoutMs: Ms
}
