/** A running sandbox as its owner sees it: where it is, what it was asked, what it holds, and the strings to pull. */
import type { EpochMs, Ms } from '../core/time.ts'
import type { Json } from './api/json.ts'
import type { MutationKind } from './random-mutations.ts'
import type { Mutations } from './mutations.ts'
import type { KeyOptions } from './options.ts'
import type { LedgerEntry } from './project.ts'
import type { ScriptedFault } from './server/faults.ts'
import type { RequestCounts, RequestLogEntry } from './server/request-log.ts'
import type { Switches } from './switches.ts'
import type { TruthRow, TruthStream } from './truth.ts'

/** Where a project is not named, the first one is meant. */
export type Sandbox = {
  readonly origin: string
  readonly port: number
  /** What a client needs. */
  readonly baseUrl: string
  readonly widgetUrl: string
  readonly projectId: string
  readonly key: string
  readonly projectIds: readonly string[]

  readonly log: () => readonly RequestLogEntry[]
  readonly counts: () => RequestCounts
  readonly resetLog: () => void
  /** Every write that was done, in order. */
  readonly ledger: (projectId?: string) => readonly LedgerEntry[]
  readonly truth: (stream: TruthStream, projectId?: string) => Generator<TruthRow>
  /** The rollup that the service gives for this window. */
  readonly rollup: (from: string, to: string, projectId?: string) => Json

  readonly mutate: Mutations
  readonly mutateIn: (projectId: string) => Mutations
  /** `n` seeded changes; answers their kinds. */
  readonly applyRandomMutations: (n: number, seed: number, kinds?: readonly MutationKind[], projectId?: string) => readonly string[]
  readonly switches: () => Switches
  /**
   * Changes switches while it runs. `rate.*` starts the counts anew. `storm.*` and `content` are part of the past: they
   * make it anew and forget what happened since.
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
  /** Resolves when it has stopped, whoever asked for it. */
  readonly stopped: Promise<void>
}
