/** The mirror of one project as a sync run uses it: a port that the warehouse implements with SQL. */

import type { Gap, MirrorRow, RejectedRow, ServiceBehaviour } from '../../../schema/row.ts'
import type { ChildStreamName, ListStreamName, StreamName } from '../../../schema/stream-specs.ts'
import type { LocalDay } from '../../values/days.ts'
import type { EpochMs, EpochSeconds } from '../../values/time.ts'

/** What one response brought. All of it is stored in one transaction, or none. */
export type MirrorCommit = {
  readonly stream: StreamName
  /** Rows of the stream's table. The same key may occur twice; the last one wins. */
  readonly rows: readonly MirrorRow[]
  /** When the request was sent. A copy requested earlier never replaces one requested later. */
  readonly requestedAt: EpochMs
  /**
   * The rows are current, because they were read by their ids or in a full scan. Other rows of a list may be stale copies:
   * they do not replace a row with a later `last_message_at`, but mark it for a recheck.
   */
  readonly isAuthoritative?: boolean
  /** Cursors to store, by name; null deletes one. */
  readonly cursors?: Readonly<Record<string, string | null>>
  /** Records the rows' ids as seen under this key, to find later which rows a complete list did not show. */
  readonly seenRowsKey?: string
  readonly childRead?: ChildReadResult
  readonly gaps?: readonly Gap[]
  /** Keys of the stream's gaps that this commit closes. */
  readonly resolvedGapKeys?: readonly string[]
  /** Rows that could not be read: each is a gap, or makes its parent's list incomplete. */
  readonly rejectedRows?: readonly RejectedRow[]
  readonly observations?: readonly ServiceBehaviour[]
  /** How many lists are being read side by side now, this one included: the commit may wait shortly for their pages. */
  readonly activeReaders?: () => number
}

/**
 * `changed`: how many rows were new or different; the others stay untouched. `rejectedRows`: those of the
 * commit, and the rows that the database cannot store.
 */
export type CommitResult = { readonly changed: number; readonly rejectedRows?: readonly RejectedRow[] }

/** A parent with pending children, which are to be read. */
export type PendingParent = {
  readonly parentId: string
  /** Increases whenever the parent changes in a way that may mean new children. */
  readonly requestedVersion: number
  /** The version that the last completed read was for; 0 if there was none. */
  readonly fetchedVersion: number
  /** The cursor of the last completed read; null before the first one. */
  readonly cursor: string | null
  readonly attempts: number
  /** When it was last read, by this machine's clock; null = never. */
  readonly checkedAt: EpochMs | null
  /** Already read, and to be read again from its beginning, for a reconcile or a full sync. */
  readonly needsFullReread: boolean
  /** The parent's last activity as its row shows it: `occurred_at`, `last_message_at`, or when a visitor was last seen. */
  readonly parentLastActiveAt: EpochSeconds | null
}

/** The result of reading one parent's children. */
export type ChildReadResult = {
  readonly stream: ChildStreamName
  readonly parentId: string
  /** The version that was read for. If the parent has changed since, its children stay pending. */
  readonly requestedVersion: number
  readonly cursor: string | null
  /**
   * `incomplete`: the service did not list all of them. The parent's row is flagged, and `why` is recorded as a gap.
   * `unchanged`: only what follows the previous cursor was read, which says nothing about earlier children.
   */
  readonly completeness: 'complete' | 'incomplete' | 'unchanged'
  readonly why?: string
  /** When they are due again although the parent has not changed; null = only when it changes. */
  readonly dueAt: EpochMs | null
}

/** The window of a stored rollup, and when it was last read, by the service's clock. */
export type StoredRollup = Omit<LocalDay, 'date'> & { readonly timeZone: string | null; readonly readAt: EpochSeconds }

/** `complete`: read to its end at least once. `skipped`: never, and the key lacked its scope the last time. */
export type StreamReadStatus = 'complete' | 'skipped' | 'unfinished'

/** The cursor that stores by how many seconds the service's clock was last ahead of this machine's. */
export const clockOffsetCursor = 'clock'

export type SyncMode = 'incremental' | 'reconcile' | 'full'

/** `gaps`: done, with known gaps or skipped streams. `interrupted`: stopped on request; the next run continues. */
export type SyncOutcome = 'complete' | 'gaps' | 'failed' | 'interrupted'

/** What a run did with one stream, for `sync_runs` and the report. */
export type StreamReport = {
  readonly stream: StreamName
  readonly requests: number
  readonly rows: number
  readonly changed: number
  /** Milliseconds from the stream's first request to its last commit. */
  readonly tookMs: number
  /** The missing scope if the stream was skipped, else null. */
  readonly skipped: string | null
  /** Why the stream was not read completely, else null. */
  readonly failed: string | null
}

export type RereadChoice = 'all' | { readonly atLeast: number; readonly oneIn: number }

export type Mirror = {
  readonly commit: (commit: MirrorCommit) => Promise<CommitResult>
  /** A parent's children could not be read: they are pending again at `dueAt`, and a gap until they are read. */
  readonly recordChildFailure: (stream: ChildStreamName, parent: string, why: string, dueAt: EpochMs) => Promise<void>

  readonly readCursor: (name: string) => Promise<string | null>
  /** Null deletes it. */
  readonly writeCursor: (name: string, position: string | null) => Promise<void>
  /** Those of the ids, in lower case, that a person had erased: nothing of them is stored again. */
  readonly readErased: (ids: readonly string[]) => Promise<ReadonlySet<string>>
  /** The JSON text of the rows with these ids, deleted ones excluded. */
  readonly readRawById: (stream: StreamName, ids: readonly string[]) => Promise<ReadonlyMap<string, string>>
  readonly readBehaviours: () => Promise<ReadonlyMap<string, string>>

  /** Parents whose children are pending now: refreshes first, then first reads (newest first), then full rereads. */
  readonly readPendingParents: (stream: ChildStreamName, now: EpochMs, max: number) => Promise<readonly PendingParent[]>
  readonly countPendingParents: (stream: ChildStreamName, now: EpochMs) => Promise<number>
  /** Children that were to be read in the future are due now, if a clock was wrong when they were marked. */
  readonly correctFutureDueTimes: (stream: ChildStreamName, now: EpochMs) => Promise<void>
  /** Marks children for a full reread: all of them, or the least recently read, `atLeast` of them and one in `oneIn`. */
  readonly requestFullRereads: (stream: ChildStreamName, which: RereadChoice, now: EpochMs) => Promise<number>

  /**
   * Marks the conversations pending that have messages dated after `cursorLimit`, least recently read first: a new message
   * dated earlier does not change what such a conversation shows.
   */
  readonly markFutureDatedPending: (cursorLimit: EpochSeconds, most: number, now: EpochMs) => Promise<void>
  /** How many rows of the stream are dated after `cursorLimit`, counted to `most`. */
  readonly countFutureRows: (stream: StreamName, cursorLimit: EpochSeconds, most: number) => Promise<number>

  /** Marks the children of these parents pending, whatever the parents' rows show. Ids that are not mirrored are ignored. */
  readonly markChildrenPending: (stream: ChildStreamName, parentIds: readonly string[], now: EpochMs) => Promise<void>

  /** Ids of the rows that were not seen under this key, in id order. `open`: only conversations not handled. */
  readonly listUnseenRows: (
    stream: ListStreamName,
    seenRowsKey: string,
    where: 'all' | 'open',
    after: string | null,
    limit: number,
  ) => Promise<readonly string[]>
  /** How many rows `listUnseenRows` would list in all, and how many rows there are. */
  readonly countUnseenRows: (
    stream: ListStreamName,
    seenRowsKey: string,
    where: 'all' | 'open',
  ) => Promise<{ readonly unseen: number; readonly living: number }>
  /** Those of these ids that were not seen under this key, or are not mirrored at all. `seenRowsKey` null: only the latter. */
  readonly listUnseenIds: (
    stream: ListStreamName,
    seenRowsKey: string | null,
    ids: readonly string[],
  ) => Promise<readonly string[]>
  readonly forgetSeenRows: (seenRowsKey: string) => Promise<void>
  /** Conversations that a list showed with an earlier last message than the mirror has: to be read by their ids. */
  readonly listRowsToRecheck: (limit: number) => Promise<readonly string[]>
  /** Removes the recheck marks of these conversations. */
  readonly clearRecheck: (ids: readonly string[]) => Promise<void>
  /**
   * Sets `deleted_at` on the row and on its children. Null: marked; else why it was not: too many were marked of late, or are
   * missing. `isConfirmed`: a person has said that they are deleted.
   */
  readonly markDeleted: (
    stream: ListStreamName,
    id: string,
    at: EpochMs,
    isConfirmed?: boolean,
  ) => Promise<string | null>

  /** The `newest`-th newest `occurred_at` of calls up to `until` (1 = the newest); null if there are fewer. */
  readonly nthNewestCallTime: (newest: number, until: EpochSeconds) => Promise<EpochSeconds | null>
  /** The earliest time in any mirrored row; null for an empty mirror. */
  readonly earliestTime: () => Promise<EpochSeconds | null>
  /** The time of the latest message that any row shows. */
  readonly latestMessageTime: () => Promise<EpochSeconds | null>
  /** All stored rollups, newest first. */
  readonly readRollups: () => Promise<readonly StoredRollup[]>
  /** How far earlier runs have read each of these streams; a stream that no run has tried is missing. */
  readonly readStreamStatuses: (streams: readonly StreamName[]) => Promise<ReadonlyMap<StreamName, StreamReadStatus>>
  /** After a complete read of a list that began at `since`: closes the gaps that it did not find again. */
  readonly resolveGaps: (stream: StreamName, since: EpochMs) => Promise<number>
  readonly listOpenGaps: (stream: StreamName) => Promise<readonly Gap[]>

  readonly startRun: (mode: SyncMode, now: EpochMs) => Promise<string>
  readonly heartbeat: (run: string, requests: number, now: EpochMs) => Promise<void>
  readonly finishRun: (id: string, outcome: SyncOutcome, reports: readonly StreamReport[], at: EpochMs) => Promise<void>
}

/** The parts of a row's key as texts, without `project_id`. */
export type RowKey = readonly string[]

/** Reads the mirrored rows back, without the deleted ones, to compare them with the service. */
export type MirrorReader = Pick<Mirror, 'readRawById'> & {
  /** After a key, in key order. `parent`: only the rows of that parent, in a child stream. */
  readonly readRows: (
    stream: StreamName,
    after: RowKey | null,
    limit: number,
    parent?: string | null,
  ) => Promise<readonly { readonly key: RowKey; readonly raw: string }[]>
}
