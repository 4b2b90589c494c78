/** The interface of a running sandbox: its address, its request log, its data, and its controls. */

import type { Json } from '../core/row.ts'
import type { EpochMs, Ms } from '../core/time.ts'
import type { Mutations } from './mutations.ts'
import type { KeyOptions } from './options.ts'
import type { LedgerEntry } from './project.ts'
import type { MutationKind } from './random-mutations.ts'
import type { ScriptedFault } from './server/faults.ts'
import type { RequestCounts, RequestLogEntry } from './server/request-log.ts'
import type { Switches } from './switches.ts'
import type { TruthRow, TruthStream } from './truth.ts'

/** Without a project id, a method uses the first project. */
export type Sandbox = {
  readonly origin: string
  readonly port: number
  /** The connection settings for a client. */
  readonly baseUrl: string
  readonly widgetUrl: string
  readonly projectId: string
  readonly key: string
  readonly projectIds: readonly string[]

  readonly log: () => readonly RequestLogEntry[]
  readonly counts: () => RequestCounts
  readonly resetLog: () => void
  /** Every write that was performed, in order. */
  readonly ledger: (projectId?: string) => readonly LedgerEntry[]
  readonly truth: (stream: TruthStream, projectId?: string) => Generator<TruthRow>
  /** The service's rollup of this window. */
  readonly rollup: (from: string, to: string, projectId?: string) => Json

  readonly mutate: Mutations
  readonly mutateIn: (projectId: string) => Mutations
  /** Applies `n` seeded changes; returns their kinds. */
  readonly applyRandomMutations: (
    n: number,
    seed: number,
    kinds?: readonly MutationKind[],
    projectId?: string,
  ) => readonly string[]
  readonly switches: () => Switches
  /**
   * Changes switches at runtime. `rate.*` resets the rate limits. `storm.*`, `rows.rhythm`, `ids.letters` and `content` belong to the seed data: they
   * recreate it and discard later changes.
   */
  readonly setSwitches: (switches: Partial<Switches>) => void
  readonly scriptFault: (fault: ScriptedFault) => void
  readonly clearFaults: () => void
  readonly addKey: (key: KeyOptions, projectId?: string) => void
  readonly revokeKey: (key: string) => void
  /** The service's clock. */
  readonly now: () => EpochMs
  readonly advance: (ms: Ms) => void
  /** Cuts every connection and frees the port. */
  readonly stop: () => Promise<void>
  /** Resolves when it has stopped, for any reason. */
  readonly stopped: Promise<void>
}
