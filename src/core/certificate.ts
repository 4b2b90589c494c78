/**
 * A certificate of a mirror: what was compared with the service and when, how many rows of each day there are with a digest
 * of them, and what cannot be proven. Times are RFC 3339 text, days are those of UTC.
 */

import type { AuditEstimate } from './audit.ts'
import type { Difference, GapReport } from './command-reports.ts'
import type { StreamDigest } from './day-digest.ts'
import type { ServiceBehaviour } from './row.ts'
import type { StreamName } from './stream-specs.ts'

/** In the file, so that it is recognised. */
export const certificateFormat = 'deskmirror-certificate'

/** Another number: the members or the digests mean something else. */
export const certificateVersion = 1

export type CertifiedStream = StreamDigest & {
  /** Rows that are kept although the service no longer has them; in no digest. */
  readonly deleted: number
  /** When a sync last read it to its end; null = never. */
  readonly syncedAt: string | null
  /** Known gaps. */
  readonly openGaps: number
}

/**
 * What was compared with the service, from when to when. `sample`: so many conversations and visitors, drawn at random, with
 * their children; null = every row of the streams.
 */
export type CertifiedComparison = {
  readonly sample: number | null
  readonly from: string
  readonly to: string
  readonly requests: number
  readonly streams: readonly {
    readonly stream: StreamName
    readonly compared: number
    readonly differing: number
    /** Why it was not compared; null = it was. */
    readonly notCompared: string | null
    /** Why not every row of the service could be read; null = none is known to be missing. */
    readonly incomplete: string | null
  }[]
  /** The first of them. */
  readonly differences: readonly Difference[]
  readonly truncated: boolean
}

/** What the certificate does not prove. `stream` null: of all. */
export type CertificateLimit = {
  readonly stream: StreamName | null
  readonly what: string
  readonly why: string
}

export type Certificate = {
  readonly format: typeof certificateFormat
  readonly version: typeof certificateVersion
  readonly software: string
  /** Its id at the service, and its name in the configuration. */
  readonly project: { readonly id: string; readonly name: string }
  /** The address of the service that the mirror was compared with. */
  readonly service: string
  /** Of the service's daily rollups; the days of the certificate are those of UTC. */
  readonly timeZone: string
  /** How far back calls, activity and rollups are mirrored; null = all there is. */
  readonly startDate: string | null
  /** The state of the mirror that was counted: one moment. */
  readonly countedAt: string
  readonly comparison: CertifiedComparison
  readonly streams: readonly CertifiedStream[]
  /** The oldest of those that were open shortly before; `openGaps` of the streams counts all. */
  readonly gaps: readonly GapReport[]
  /** What the service turned out to do, on which reading it completely relies. */
  readonly behaviours: readonly (ServiceBehaviour & { readonly learnedAt: string })[]
  /** What the nightly audits show. */
  readonly audits: readonly AuditEstimate[]
  readonly limits: readonly CertificateLimit[]
  /** SHA-256 of the project's id and of the digests of the streams. The statements of this file are not in it. */
  readonly digest: string
}
