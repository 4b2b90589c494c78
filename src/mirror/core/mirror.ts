/** What a sync run and the mirror of its project exchange: commits, pending parents, reports. */
import type { Gap, MirrorRow, RejectedRow, ServiceBehaviour } from '../../../schema/row.ts'
import type { ChildStreamName, StreamName } from '../../../schema/stream-specs.ts'
import type { LocalDay } from '../../values/days.ts'
import type { EpochMs, EpochSeconds } from '../../values/time.ts'

/** Of the whole stream, or of a parent that its key names. */
export function untimedGap(stream: StreamName, reason: string, dedupKey?: string): Gap {
  return { stream, from: null, to: null, reason, dedupKey }
}

/** What one response brought. All of it is stored in one transaction, or none. */
export type MirrorCommit = {
  readonly stream: StreamName
  /** Rows of the stream's table. The same key may occur twice; the last one wins. */
  readonly rows: readonly MirrorRow[]
  /** When the request was sent. A copy requested earlier never replaces one requested later. */
  readonly requestedAt: EpochMs
  /**
   * Read by their ids or in a full scan, so they are current. Other rows may be stale copies: they
   * do not replace a row with a later `last_message_at`, but mark it for a recheck.
   */
  readonly isAuthoritative?: boolean
  /** Cursors to store, by name; null deletes one. */
  readonly cursors?: Readonly<Record<string, string | null>>
  /** Records the ids as seen under this key, to find the rows that a whole list did not show. */
  readonly seenRowsKey?: string
  readonly childRead?: ChildReadResult
  /** All rows of a child list: stored ones that it did not show are deleted, or the list is cut. */
  readonly listed?: ListedRows
  readonly gaps?: readonly Gap[]
  readonly resolvedGapKeys?: readonly string[]
  /** Rows that could not be read: each is a gap, or makes its parent's list incomplete. */
  readonly rejectedRows?: readonly RejectedRow[]
  readonly observations?: readonly ServiceBehaviour[]
}

/**
 * `changed`: rows that were new or different. `rejectedRows`: also those that the database cannot
 * store. `unlisted`: the outcome for stored rows that a whole list did not show.
 */
export type CommitResult = {
  readonly changed: number
  readonly rejectedRows?: readonly RejectedRow[]
  readonly unlisted?: UnlistedOutcome
}

/**
 * `isToReread`: another reading has to decide. `kept`: rows that are not taken for deleted, as the
 * list may be cut. `doubt`: why deleted ones were not marked.
 */
export type UnlistedOutcome = {
  readonly marked: number
  readonly isToReread: boolean
  readonly kept: number
  readonly doubt: string | null
}

/** What a reading of a whole child list showed. */
export type ListedRows = {
  readonly parentId: string
  /** The keys of all rows that it showed, without the part that names the parent. */
  readonly keys: ReadonlySet<string>
  /** When the reading began: it need not show rows that were stored from a later request. */
  readonly since: EpochMs
  /** Older rows are not requested. */
  readonly from: EpochSeconds
  /** An earlier reading missed the same rows. Else the mirror knows which one missed them. */
  readonly isSecond: boolean
  /** A person has said that the rows are deleted. */
  readonly isConfirmed: boolean
}

/** A parent with pending children, which are to be read. */
export type PendingParent = {
  readonly parentId: string
  /** Increases whenever the parent changes in a way that may mean new children. */
  readonly requestedVersion: number
  /** The version that the last completed read was for; 0 if there was none. */
  readonly readVersion: number
  /** The cursor of the last completed read; null before the first one. */
  readonly cursor: string | null
  readonly attempts: number
  /** When it was last read, by this machine's clock; null = never. */
  readonly checkedAt: EpochMs | null
  /** Already read, and to be read again from its beginning, for a reconcile or a full sync. */
  readonly rereadWhole: boolean
  /** As its row shows it: `occurred_at`, `last_message_at`, or when a visitor was last seen. */
  readonly parentLastActiveAt: EpochSeconds | null
  readonly parentBeganAt: EpochSeconds | null
}

/** The result of reading one parent's children. */
export type ChildReadResult = {
  readonly stream: ChildStreamName
  readonly parentId: string
  /** The version that was read for. If the parent has changed since, its children stay pending. */
  readonly requestedVersion: number
  readonly cursor: string | null
  /**
   * `incomplete`: the parent's row is flagged, and `why` is a gap. `unchanged`: only what follows
   * the previous cursor was read.
   */
  readonly completeness: 'complete' | 'incomplete' | 'unchanged'
  /** How many rows the list had, if all of it was read. */
  readonly listedRows?: number | null
  /**
   * The reading began before the newest stored row, and no page before the last one showed a stored
   * row: how many rows of the last one are new. Null: it need not show one.
   */
  readonly toJoin?: number | null
  readonly why?: string
  /** When they are due again although the parent has not changed; null = only when it changes. */
  readonly dueAt: EpochMs | null
}

/** The window of a stored rollup, and when it was last read, by the service's clock. */
export type StoredRollup = Omit<LocalDay, 'date'> & {
  readonly timeZone: string
  readonly readAt: EpochSeconds
}

/** Stores by how many seconds the service's clock was last ahead of this machine's. */
export const clockOffsetCursor = 'clock'

/** The parts of a row's key as texts, without `project_id`. */
export type RowKey = readonly string[]

const limits = { share: 0.25, rows: 25 }

/** `missing` of `all` rows that were expected. */
export function isMassDeletion(missing: number, all: number): boolean {
  return missing > limits.rows && missing > all * limits.share
}

/** More rows than these do not change whether `missing` of them are too many. */
export function sufficientRows(missing: number): number {
  return Math.ceil(missing / limits.share)
}

/** The gap of a list that does not show all rows that exist. */
export const unlistedRowsGapKey = 'unlisted'

/** The gap that is open while a stream's rows are in doubt, of which none is then marked. */
export const massDeletionGapKey = 'deletions'

export function describeMassDeletion(stream: StreamName, missing: number, all: number): string {
  const what = `the service no longer lists ${missing} of ${all} mirrored ${stream}`
  return (
    `Nothing was marked as deleted, although ${what}. If they are really deleted, run ` +
    '`deskmirror sync --mode full`.'
  )
}
