/** What `verify --json`, `verify --against` and `audit` print. Times are RFC 3339 text, the days of digests those of UTC. */

import type { StreamName } from '../../../schema/stream-specs.ts'
import type { ProjectId, ProjectName } from '../../values/project.ts'
import type { AuditEstimate, AuditResult } from './audit.ts'
import type { StreamDigest } from './day-digests.ts'
import type { StreamChange } from './digest-changes.ts'
import type { Difference, VerifyReport } from './reports.ts'

/** `verify --json`, one project: what was compared with the service, what could not be, and what the mirror has. */
export type VerifyDocument = VerifyReport & {
  /** Its id in the service. */
  readonly projectId: ProjectId
  /** So many conversations and visitors were drawn at random, with their children; null = every row. */
  readonly sample: number | null
  /** When the service was read. */
  readonly from: string
  readonly to: string
  /** Streams of which nothing was compared. */
  readonly notCompared: readonly { readonly stream: StreamName; readonly why: string }[]
  readonly mirror: MirrorCount
}

/** All existing rows at one moment. `digest`: SHA-256 of the project's id and the digests of the streams. */
export type MirrorCount = {
  readonly countedAt: string
  readonly digest: string
  readonly streams: readonly CountedStream[]
}

/** `deleted`: rows that are kept although the service no longer has them. They are in no digest. */
export type CountedStream = StreamDigest & { readonly deleted: number; readonly openGaps: number }

/** `verify --against`, one project. */
export type DigestComparison = {
  readonly project: ProjectName
  /** What the file says. */
  readonly before: { readonly file: string; readonly countedAt: string; readonly digest: string }
  readonly countedAt: string
  readonly streams: readonly StreamChange[]
}

/** `audit`, one project: one for each stream; empty if none could be audited yet. */
export type AuditReport = {
  readonly project: ProjectName
  readonly audits: readonly AuditResult[]
  /** The rows that differed; all of them. */
  readonly differences: readonly Difference[]
  /** What all audits of the last 30 days show. */
  readonly estimates: readonly AuditEstimate[]
  readonly outcome: 'done' | 'interrupted'
  readonly requests: number
  /** Why a stream was not audited, or deleted rows were not marked. Sentences for users. */
  readonly notices: readonly string[]
}
