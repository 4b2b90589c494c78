/** Days of rollups: how one is requested, how far back they go, and in which time zone. */
import { listStreamNames, type StreamName } from '../../../schema/stream-specs.ts'
import { ApiError, isNotFound, isRefused } from '../../service/core/api-failure.ts'
import type { ApiResponse, Priority } from '../../service/core/api-request.ts'
import { type LocalDay, localDateOfDay } from '../../values/days.ts'
import { asJsonObject } from '../../values/json.ts'
import type { Kept } from '../../values/private-columns.ts'
import type { ProjectId } from '../../values/project.ts'
import { type EpochSeconds, rfc3339 } from '../../values/time.ts'
import { UserError } from '../../values/user-error.ts'
import { foreignProject } from '../core/item-fields.ts'
import type { StoredRollup } from '../core/mirror.ts'
import type { MirrorGet } from '../core/mirror-get.ts'
import type { DailyStream } from '../core/stream-kinds.ts'
import type { Mirror } from '../sql/mirror.ts'
import type { SyncRun } from './run.ts'

/** Throws ApiError, also if the rollup is of another project. */
export async function fetchDay(
  { get, projectId }: { readonly get: MirrorGet; readonly projectId: ProjectId },
  stream: DailyStream,
  day: Pick<LocalDay, 'from' | 'to'>,
  priority: Priority,
  now: EpochSeconds,
): Promise<ApiResponse<Kept>> {
  const getUntil = (to: EpochSeconds) =>
    get(stream.name, stream.path(projectId), { from: rfc3339(day.from), to: rfc3339(to) }, priority)
  const response = await getUntil(day.to).catch((error) => {
    // The current day ends in the future, which a service may not accept.
    if (isRefused(error) && !isNotFound(error) && day.to > now) return getUntil(now)
    throw error
  })
  const other = foreignProject(asJsonObject(response.data) ?? {}, projectId)
  if (other === null) return response
  const { status, requestId } = response
  const why = `the rollup is of another project (${other})`
  throw new ApiError({ kind: 'refused', status, code: 'other_project', why, fields: [], requestId })
}

/** Why only this day cannot be read: it is refused, or has no answer. Null: it is not that. */
export function unreadableDayReason(error: unknown): string | null {
  if (!(error instanceof ApiError)) return null
  const { failure } = error
  if (failure.kind === 'refused') return error.message
  return failure.kind === 'transient' && failure.status !== null && failure.status < 500
    ? error.message
    : null
}

/** `blocked`: a list was never read completely. `unknown`: none can be read. `empty`: no rows. */
export type RollupHistory =
  | { readonly kind: 'known'; readonly from: EpochSeconds }
  | { readonly kind: 'blocked'; readonly lists: readonly StreamName[] }
  | { readonly kind: 'unknown' | 'empty' }

/**
 * How far back the rollups go: the API does not say, the earliest mirrored row does, once the lists
 * are read. `thisRun`: the read statuses of the current run, which are not stored yet.
 */
export async function findRollupHistory(
  { mirror, mirrored, startDate }: Pick<SyncRun, 'mirror' | 'mirrored' | 'startDate'>,
  thisRun: ReadonlyMap<StreamName, 'complete' | 'skipped'> = new Map(),
): Promise<RollupHistory> {
  if (startDate !== null) return { kind: 'known', from: startDate }
  const relevantLists = listStreamNames.filter((name) => mirrored.has(name))
  const before = await mirror.readStreamStatuses(relevantLists)
  const statusOf = (name: StreamName) =>
    before.get(name) === 'complete'
      ? 'complete'
      : (thisRun.get(name) ?? before.get(name) ?? 'unfinished')
  const unread = relevantLists.filter((name) => statusOf(name) === 'unfinished')
  if (unread.length > 0 && (await mirror.readRollups()).length === 0)
    return { kind: 'blocked', lists: unread }
  const from = await mirror.earliestTime()
  if (from !== null) return { kind: 'known', from }
  return { kind: relevantLists.some((name) => statusOf(name) === 'complete') ? 'empty' : 'unknown' }
}

/** The zone that a person has confirmed: a typing error must not make us read all days again. */
const zoneCursor = 'analytics:zone'

/** Newest first: those that are no days of the zone. */
export function outdatedRollups(
  stored: readonly StoredRollup[],
  timeZone: string,
): readonly StoredRollup[] {
  return stored.filter(
    (rollup) => rollup.timeZone !== timeZone && localDateOfDay(rollup, timeZone) === null,
  )
}

/** Why the rollups may not be read in this time zone yet; null = they may. */
export async function unconfirmedZoneReason(
  mirror: Pick<Mirror, 'readRollups' | 'readCursor'>,
  timeZone: string,
) {
  const outdated = outdatedRollups(await mirror.readRollups(), timeZone)
  if (outdated.length === 0 || (await mirror.readCursor(zoneCursor)) === timeZone) return null
  return (
    `the stored rollups are days of ${outdated[0]?.timeZone}, and the time zone is now ` +
    `${timeZone}: ${outdated.length} of them would be replaced`
  )
}

export const confirmZone =
  'correct DESKMIRROR_TIME_ZONE; or, to read every day again, run `deskmirror sync ' +
  '--streams analytics --change-time-zone`'

/** `isConfirmed`: a person says so now, which is remembered. Throws UserError if nobody did. */
export async function requireConfirmedZone(
  mirror: Pick<Mirror, 'readRollups' | 'readCursor' | 'writeCursor'>,
  { name, timeZone }: { readonly name: string; readonly timeZone: string },
  isConfirmed: boolean,
): Promise<void> {
  const why = await unconfirmedZoneReason(mirror, timeZone)
  if (why === null) return
  if (isConfirmed) return mirror.writeCursor(zoneCursor, timeZone)
  throw new UserError({
    what: `cannot sync the rollups of ${name}`,
    why,
    next: confirmZone,
    exitCode: 2,
  })
}
