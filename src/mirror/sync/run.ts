/** The state of one sync run, shared by its streams. */

import type { StreamName } from '../../../schema/stream-specs.ts'
import type { ApiFailure } from '../../service/core/api-failure.ts'
import type { Priority } from '../../service/core/priority.ts'
import type { EpochSeconds, Seconds } from '../../values/time.ts'
import { clockOffsetCursor } from '../core/mirror.ts'
import type { PagingProfile } from '../core/pagination/paging-profile.ts'
import type { SyncDeps } from './deps.ts'
import { createRunStats, type RunStats } from './run-stats.ts'

export type SyncRun = SyncDeps & {
  readonly id: string
  readonly stats: RunStats
  /** Paging profiles by the name of the list. */
  readonly profiles: Map<string, PagingProfile>
  /** Behaviours that this run learns again, with what was known of them. */
  readonly forgotten: Map<string, string>
  readonly notices: Set<string>
  /** Streams that cannot begin before others have been read. */
  readonly waitingStreams: Set<StreamName>
  /** Streams that were stopped before their end. */
  readonly stoppedStreams: Set<StreamName>
  /** The failures that ended streams early. */
  readonly failures: Map<StreamName, ApiFailure>
  /** The service has responded at least once. */
  readonly hasServiceResponded: () => boolean
  /** Ids of rows dated in the future, as the lists showed them. */
  readonly futureDated: Map<StreamName, Set<string>>
  /** Lists that were empty and had `hasMore` set. */
  readonly emptyListsWithMore: Set<StreamName>
  /** The earlier of the service's clock, by its last response, and this machine's. */
  readonly cursorLimit: () => EpochSeconds
  /** Seconds by which the service's clock was ahead of this machine's in this run; null = no response showed it. */
  readonly clockOffset: () => Seconds | null
  /** This machine's clock, and the service's by the last known offset. */
  readonly clocks: () => { readonly localTime: EpochSeconds; readonly serviceTime: EpochSeconds }
}

export async function startRun(deps: SyncDeps): Promise<SyncRun> {
  const stats = createRunStats(deps.now, deps.onProgress)
  const id = await deps.mirror.startRun(deps.mode, deps.now())
  // The offset that an earlier run stored applies until a response shows another one.
  let offset = Number(await deps.mirror.readCursor(clockOffsetCursor)) || 0
  let measuredOffset: Seconds | null = null
  let hasServiceResponded = false
  const localTime = () => Math.floor(deps.now() / 1000)
  return {
    ...deps,
    id,
    stats,
    profiles: new Map(),
    forgotten: new Map(),
    notices: new Set(),
    waitingStreams: new Set(),
    stoppedStreams: new Set(),
    failures: new Map(),
    hasServiceResponded: () => hasServiceResponded,
    futureDated: new Map(),
    emptyListsWithMore: new Set(),
    cursorLimit: () => localTime() + Math.min(0, offset),
    clockOffset: () => measuredOffset,
    clocks: () => {
      const now = localTime()
      return { localTime: now, serviceTime: now + offset }
    },
    get: async (path, query, priority) => {
      const response = await deps.get(path, query, priority)
      hasServiceResponded = true
      if (response.serverDate !== null) {
        measuredOffset = response.serverDate - localTime()
        offset = measuredOffset
      }
      return response
    },
  }
}

/** First reads and rereads are less urgent than new rows. */
export function priorityFor(run: SyncRun, isFirst: boolean): Priority {
  return run.mode === 'incremental' ? (isFirst ? 'backfill' : 'fresh') : 'reconcile'
}
