/** Asks the service for the project to find out whose refusal an answer is; once at a time. */
import type { EpochMs } from '../values/time.ts'
import { ApiError, type ApiFailure } from './core/api-failure.ts'
import type { ApiGet, ApiRequest } from './core/api-request.ts'
import {
  answerValidMs,
  concludeProjectAnswer,
  isMissingScope,
  judgeRefusal,
  listRequest,
  mustAskProject,
  type ProjectAnswer,
  projectRequests,
  readProjectAnswer,
  scopeOf,
  showsProject,
} from './core/whose-refusal.ts'

/** `get`: retries, and does not judge. */
export function createRefusals(projectId: string, get: ApiGet, now: () => EpochMs) {
  /** When the last request was sent that showed that the key is accepted for the project. */
  let acceptedAt = Number.NEGATIVE_INFINITY
  /** The same by scope, for reads. */
  const readAt = new Map<string, EpochMs>()
  /** The last question by scope; null: about the project itself. */
  const asked = new Map<
    string | null,
    { readonly at: EpochMs; readonly answer: Promise<ProjectAnswer> }
  >()
  const answerSince = (scope: string | null, since: EpochMs) => {
    const last = asked.get(scope)
    return last !== undefined && last.at >= since ? last.answer : null
  }

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
    const known = answerSince(null, since)
    if (known !== null) return known
    const at = now()
    const answer = ask(request).then((result) => {
      if (result.kind === 'accepted') acceptedAt = Math.max(acceptedAt, at)
      if (result.kind === 'unknown') asked.delete(null)
      return result
    })
    asked.set(null, { at, answer })
    return answer
  }
  /** Whether the key lacks the scope, or the row alone is refused as if it did. */
  const askScope = (
    scope: string,
    since: EpochMs,
    { priority }: ApiRequest,
  ): Promise<ProjectAnswer> => {
    if ((readAt.get(scope) ?? Number.NEGATIVE_INFINITY) >= since)
      return Promise.resolve({ kind: 'accepted' })
    const known = answerSince(scope, since)
    if (known !== null) return known
    const request = get(listRequest(projectId, scope), { limit: 1 }, priority)
    const answer = request.then(
      (): ProjectAnswer => ({ kind: 'accepted' }),
      (error): ProjectAnswer => {
        const failure = toFailure(error)
        const isAnswer = failure.kind === 'denied' || failure.kind === 'refused'
        return { kind: isAnswer ? 'refused' : 'unknown', failure }
      },
    )
    asked.set(scope, { at: now(), answer })
    return answer
  }
  return {
    recordSuccess: ({ method, path }: ApiRequest, sentAt: EpochMs): void => {
      if (showsProject(path)) acceptedAt = Math.max(acceptedAt, sentAt)
      const scope = method === 'GET' ? scopeOf(path) : null
      if (scope !== null) readAt.set(scope, Math.max(readAt.get(scope) ?? sentAt, sentAt))
    },
    /** The failure as it is to be treated. Never throws ApiError. */
    judge: async (failure: ApiFailure, request: ApiRequest): Promise<ApiFailure> => {
      if (!mustAskProject(failure, request)) return failure
      const since = now() - answerValidMs(failure, request)
      const scope = isMissingScope(failure) ? scopeOf(request.path) : null
      if (scope !== null)
        return judgeRefusal(failure, request, await askScope(scope, since, request))
      const isAccepted = acceptedAt >= since
      return judgeRefusal(
        failure,
        request,
        isAccepted ? { kind: 'accepted' } : await askSince(since, request),
      )
    },
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
