/**
 * The mirror as a sync run sees it: what may be asked of the warehouse, and what is told to it. The warehouse of one
 * project implements this over SQL; no SQL and no service shows here.
 */
import type { Gap, MirrorRow, RefusedRow, ServiceBehaviour, StreamName } from './row.ts'
import type { EpochMs, Seconds } from './time.ts'

/** One answered request's worth of news. All of it is stored in one transaction, or none. */
export type MirrorCommit = {
  readonly stream: StreamName
  /** Rows of the stream's table. The same key may occur twice; the last one wins. */
  readonly rows: readonly MirrorRow[]
  /** When the request left. A copy asked for earlier never replaces one asked for later. */
  readonly askedAt: EpochMs
  /**
   * A row read by its own id settles what the row is. A row of a list (`false`) may be a stale copy: it does not replace
   * one whose `last_message_at` is later, but has it checked (`toCheck`).
   */
  readonly authoritative?: boolean
  /** Cursors to move, by name; null forgets one. */
  readonly cursors?: Readonly<Record<string, string | null>>
  /** Notes the rows' ids under this census, to find later what a whole list did not show. */
  readonly seenRowsKey?: string
  readonly child?: ChildReadResult
  readonly gaps?: readonly Gap[]
  /** Subjects of the stream's gaps that are filled with this. */
  readonly resolvedGapSubjects?: readonly string[]
  /** Rows that came and could not be read: each is a gap, or makes its parent's list incomplete. */
  readonly refused?: readonly RefusedRow[]
  readonly learned?: readonly ServiceBehaviour[]
}

/**
 * How many of the rows were new or different from what was stored; the rest was left untouched. `refused`: those that were
 * refused already, and those that the database cannot hold.
 */
export type CommitResult = { readonly changed: number; readonly refused?: readonly RefusedRow[] }

/** The streams that are read one parent at a time, and the table of the parent. */
export const parentStreams = {
  messages: 'conversations',
  visitor_activity: 'visitors',
  call_recordings: 'calls',
} as const satisfies Partial<Record<StreamName, StreamName>>
export type ChildStreamName = keyof typeof parentStreams

/** A parent whose children are to be read. */
export type PendingChild = {
  readonly parentId: string
  /** Grows each time the parent changes in a way that may mean new children. */
  readonly wanted: number
  /** The version that the last complete read answered; 0 if there was none. */
  readonly fetched: number
  /** What the last complete read left for the next one (a stream's own words), null before it. */
  readonly position: string | null
  readonly attempts: number
  /** When it was last read, by this machine's clock; null = never. */
  readonly checkedAt: EpochMs | null
  /** Read before, and to be read again from its beginning, to prove it. */
  readonly whole: boolean
  /** When the parent last did something (`occurred_at` of a call, `last_message_at`, when a visitor was last seen), as far as its row says. */
  readonly parentAt: Seconds | null
}

/** The end of reading one parent's children. */
export type ChildReadResult = {
  readonly stream: ChildStreamName
  readonly parentId: string
  /** The `wanted` that was read for: if the parent has changed since, it stays due. */
  readonly wanted: number
  readonly position: string | null
  /**
   * False: the service would not list all of them. A flag on the row says so, and `why` is recorded as a gap. `as before`:
   * only what came after `position` was asked for, which says nothing about what was missing before it.
   */
  readonly complete: boolean | 'as before'
  readonly why?: string
  /** When to look again although the parent has not changed; null = only when it changes. */
  readonly againAt: EpochMs | null
}

/** A stored rollup's window, and when it was last read, by the service's clock. */
export type StoredRollup = {
  readonly from: Seconds
  readonly to: Seconds
  readonly timeZone: string | null
  readonly readAt: Seconds
}

/** `ended`: it has come to its end once. `skipped`: it never has, and the key lacked its scope the last time. */
export type StreamStanding = 'ended' | 'skipped' | 'unfinished'
/** The cursor that notes how many seconds the service's clock was last heard to be ahead of this machine's. */
export const clockOffsetCursor = 'clock'

export type SyncMode = 'incremental' | 'reconcile' | 'full'

/** `gaps`: done, with stated gaps or skipped streams. `interrupted`: stopped on request, goes on where it was. */
export type SyncOutcome = 'complete' | 'gaps' | 'failed' | 'interrupted'

/** What a stream did in a run, for `sync_runs` and the report. */
export type StreamReport = {
  readonly stream: StreamName
  readonly requests: number
  readonly rows: number
  readonly changed: number
  /** Milliseconds from the stream's first request to its last commit. */
  readonly tookMs: number
  /** Why the stream was left out (the missing scope's name), else null. */
  readonly skipped: string | null
  /** Why the stream did not come to its end, else null. */
  readonly failed: string | null
}

export type Mirror = {
  readonly commit: (commit: MirrorCommit) => Promise<CommitResult>
  /** A parent's children could not be read: due again at `againAt`; kept as a gap of the stream until they are. */
  readonly recordChildFailure: (
    stream: ChildStreamName,
    parentId: string,
    why: string,
    againAt: EpochMs,
  ) => Promise<void>

  readonly readCursor: (name: string) => Promise<string | null>
  /** Living rows among those ids, as JSON text. */
  readonly rawOf: (stream: StreamName, ids: readonly string[]) => Promise<ReadonlyMap<string, string>>
  readonly behaviours: () => Promise<ReadonlyMap<string, string>>

  /** Parents due now (`dueAt <= now`): refreshes, then first reads (newest first), then those to be proof-read. */
  readonly readPendingChildren: (
    stream: ChildStreamName,
    now: EpochMs,
    limit: number,
  ) => Promise<readonly PendingChild[]>
  readonly countPendingChildren: (stream: ChildStreamName, now: EpochMs) => Promise<number>
  /** Makes children due, to be read whole: all of them, or the least recently read, at least `atLeast` and one in `oneIn`. */
  readonly requestFullReads: (
    stream: ChildStreamName,
    which: 'all' | { readonly atLeast: number; readonly oneIn: number },
    now: EpochMs,
  ) => Promise<number>

  /**
   * Makes due the conversations that have messages dated after `horizon`, longest not read first: nothing that is written
   * there before that moment may move what the conversation shows.
   */
  readonly markFutureDatedPending: (horizon: Seconds, most: number, now: EpochMs) => Promise<void>
  /** How many living rows of the stream are dated after `horizon`, counted to `most`. */
  readonly countFutureRows: (stream: StreamName, horizon: Seconds, most: number) => Promise<number>

  /** Something may be new under these parents, whatever their own rows say; those that are not mirrored are left out. */
  readonly markChildrenPending: (stream: ChildStreamName, parentIds: readonly string[], now: EpochMs) => Promise<void>

  /** Ids of living rows that the census did not see, in id order. `where: 'open'`: only conversations not handled. */
  readonly unseen: (
    stream: 'conversations' | 'visitors' | 'calls',
    census: string,
    where: 'all' | 'open',
    after: string | null,
    limit: number,
  ) => Promise<readonly string[]>
  /** How many `unseen` would list in all, and of how many living rows. */
  readonly countUnseenRows: (
    stream: 'conversations' | 'visitors' | 'calls',
    census: string,
    where: 'all' | 'open',
  ) => Promise<{ readonly unseen: number; readonly living: number }>
  readonly forgetSeenRows: (census: string) => Promise<void>
  /** Conversations that a list showed with an earlier last message than the mirror has, to be read by their ids; at most so many. */
  readonly listRowsToRecheck: (limit: number) => Promise<readonly string[]>
  /** These have been read since. */
  readonly clearRecheck: (ids: readonly string[]) => Promise<void>
  /** The service answered 404 for this id: sets `deleted_at` on the row and on its children. */
  readonly markDeleted: (stream: 'conversations' | 'visitors' | 'calls', id: string, at: EpochMs) => Promise<void>

  /** The `newest`-th newest `occurred_at` of calls up to `until` (1 = the newest), null if there are fewer. */
  readonly nthNewestCallTime: (newest: number, until: Seconds) => Promise<Seconds | null>
  /** The earliest moment that any mirrored row speaks of; null for an empty mirror. */
  readonly earliestTime: () => Promise<Seconds | null>
  /** When the latest message was written that any row tells of. */
  readonly latestMessageTime: () => Promise<Seconds | null>
  /** All stored rollups, the newest first. */
  readonly rollups: () => Promise<readonly StoredRollup[]>
  /** How each of these streams stands after earlier runs; one that no run has tried is missing. */
  readonly readStreamStandings: (streams: readonly StreamName[]) => Promise<ReadonlyMap<StreamName, StreamStanding>>
  /** A list has been read whole since this moment: closes its gaps that were not met with again. */
  readonly resolveGaps: (stream: StreamName, since: EpochMs) => Promise<number>
  readonly listOpenGaps: (stream: StreamName) => Promise<readonly Gap[]>

  readonly startRun: (mode: SyncMode, now: EpochMs) => Promise<string>
  readonly heartbeat: (run: string, requests: number, now: EpochMs) => Promise<void>
  readonly finishRun: (
    run: string,
    outcome: SyncOutcome,
    reports: readonly StreamReport[],
    now: EpochMs,
  ) => Promise<void>
}
