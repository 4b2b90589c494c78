/** Finds out whose refusal an answer is, by asking the service for the project: once for refusals at the same time. */
import type { EpochMs } from '../values/time.ts'
import { ApiError, type ApiFailure } from './core/api-failure.ts'
import type { ApiGet, ApiRequest } from './core/api-request.ts'
import {
  answerValidMs,
  concludeProjectAnswer,
  judgeRefusal,
  mustAskProject,
  type ProjectAnswer,
  projectRequests,
  readProjectAnswer,
  showsProject,
} from './core/whose-refusal.ts'

type Asked = { readonly at: EpochMs; readonly answer: Promise<ProjectAnswer> }

export type RefusalDeps = {
  readonly projectId: string
  /** Retries, and does not judge. */
  readonly get: ApiGet
  readonly now: () => EpochMs
}

export function createRefusals({ projectId, get, now }: RefusalDeps) {
  /** When the last request was sent that showed that the key is accepted for the project. */
  let acceptedAt = Number.NEGATIVE_INFINITY
  let asked: Asked | null = null

  const ask = async (request: ApiRequest): Promise<ProjectAnswer> => {
    const failures: ApiFailure[] = []
    for (const [path, query] of projectRequests(projectId, request)) {
      const failure = await get(path, query, request.priority).then(() => null, toFailure)
      const answer = readProjectAnswer(failure)
      if (answer !== null) return answer
      if (failure !== null) failures.push(failure)
    }
    return concludeProjectAnswer(failures)
  }
  const askSince = (since: EpochMs, request: ApiRequest): Promise<ProjectAnswer> => {
    if (asked !== null && asked.at >= since) return asked.answer
    const at = now()
    const answer = ask(request).then((result) => {
      if (result.kind === 'accepted') acceptedAt = Math.max(acceptedAt, at)
      if (result.kind === 'unknown') asked = null
      return result
    })
    asked = { at, answer }
    return answer
  }
  return {
    /** A request that was sent at `sentAt` succeeded. */
    recordSuccess: ({ path }: ApiRequest, sentAt: EpochMs): void => {
      if (showsProject(path)) acceptedAt = Math.max(acceptedAt, sentAt)
    },
    /** The failure as it is to be treated. Never throws ApiError. */
    judge: async (failure: ApiFailure, request: ApiRequest): Promise<ApiFailure> => {
      if (!mustAskProject(failure, request)) return failure
      const since = now() - answerValidMs(failure, request)
      const isAccepted = acceptedAt >= since
      return judgeRefusal(failure, request, isAccepted ? { kind: 'accepted' } : await askSince(since, request))
    },
    /** Whether the service answers for the project now, so that what failed is not an outage. */
    isProjectServed: async (request: ApiRequest): Promise<boolean> => {
      const since = now() - servedValidMs
      if (acceptedAt >= since) return true
      return (await askSince(since, request)).kind === 'accepted'
    },
  }
}

const servedValidMs = 5000

function toFailure(error: unknown): ApiFailure {
  if (error instanceof ApiError) return error.failure
  throw error
}
