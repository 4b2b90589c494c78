/** Requests the rollup of one day. */
import { ApiError, isNotFound, isRefused } from '../../service/core/api-failure.ts'
import type { ApiGet, ApiResponse } from '../../service/core/api-request.ts'
import type { Priority } from '../../service/core/priority.ts'
import type { LocalDay } from '../../values/days.ts'
import { asJsonObject } from '../../values/json.ts'
import type { ProjectId } from '../../values/project.ts'
import { type EpochSeconds, rfc3339 } from '../../values/time.ts'
import { foreignProject } from '../streams/item.ts'
import type { DailyStream } from '../streams/stream.ts'

type FetchDeps = { readonly get: ApiGet; readonly projectId: ProjectId }

/** Throws ApiError, also if the rollup is of another project. */
export async function fetchDay(
  { get, projectId }: FetchDeps,
  stream: DailyStream,
  day: Pick<LocalDay, 'from' | 'to'>,
  priority: Priority,
  now: EpochSeconds,
): Promise<ApiResponse> {
  const getUntil = (to: EpochSeconds) =>
    get(stream.path(projectId), { from: rfc3339(day.from), to: rfc3339(to) }, priority)
  const response = await getUntil(day.to).catch((error) => {
    // The current day ends in the future, which a service may not accept.
    if (isRefused(error) && !isNotFound(error) && day.to > now) return getUntil(now)
    throw error
  })
  const other = foreignProject(asJsonObject(response.data) ?? {}, projectId)
  if (other === null) return response
  const [why, { status, requestId }] = [`the rollup is of another project (${other})`, response]
  throw new ApiError({ kind: 'refused', status, code: 'other_project', why, fields: [], requestId })
}

/** Why this day cannot be read although others may be: it is refused, or the answer is none. Null for all other failures. */
export function unreadableDayReason(error: unknown): string | null {
  if (!(error instanceof ApiError)) return null
  const { failure } = error
  if (failure.kind === 'refused') return error.message
  return failure.kind === 'transient' && failure.status !== null && failure.status < 500 ? error.message : null
}
