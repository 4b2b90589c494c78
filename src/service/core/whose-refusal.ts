/**
 * Whose refusal an answer is: of one row or list, of a missing scope, of the key, or of the whole
 * service. A status does not say: a conversation that was moved to another project is answered like
 * a key of another project. So it is compared with what the service answers for the project itself.
 * `src/service/refusals.ts` asks. Pure. Tests: test/service/whose-refusal.test.ts.
 */
import type { Ms } from '../../values/time.ts'
import type { ApiFailure } from './api-failure.ts'
import type { ApiRequest, QueryParams } from './api-request.ts'

type Request = Pick<ApiRequest, 'method' | 'path' | 'priority' | 'envelope'>

/** Its lists, its rollups, its availability. Every other path names a row. */
const projectPath = /^\/public\/projects\/[^/]+\/[^/]+$/

/** What the service says of the project: accepted, refused as well, or neither of them now. */
export type ProjectAnswer =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'refused'; readonly failure: ApiFailure }
  | { readonly kind: 'unknown'; readonly failure: ApiFailure }

export function isMissingScope(failure: ApiFailure): boolean {
  return (
    failure.kind === 'denied' &&
    (failure.scope !== null || failure.code === 'api_key_scope_missing')
  )
}

/**
 * Whether only the project's own answer shows it. A refusal in the envelope, other than 401 and
 * 403, is what it says; without one, too, where only a gap depends on it.
 */
export function mustAskProject(
  failure: ApiFailure,
  { method, path, priority, envelope }: Request,
): boolean {
  if (envelope === 'optional') return false
  const isOfProject = projectPath.test(path)
  // No request shows whether the key may write but a write.
  if (isMissingScope(failure)) return method === 'GET' && !isOfProject && scopeOf(path) !== null
  if (failure.kind === 'denied') return !isOfProject || !failure.code.startsWith('api_key_')
  if (failure.kind !== 'refused' || isOfProject) return false
  const isByGateway = failure.status >= 300 && failure.code.startsWith('http_')
  return failure.status === 401 || failure.status === 403 || (isByGateway && priority === 'write')
}

/**
 * How long before the refusal the project may have been read. Only a request after a 401 shows that
 * the key was not revoked; elsewhere an error costs little, and asking costs a request a row.
 */
export function answerValidMs(failure: ApiFailure, { priority }: Request): Ms {
  if ('status' in failure && failure.status === 401) return 0
  return priority === 'write' ? 5000 : 60_000
}

/** By what a request reads: the list of these rows needs the same scope. */
export const scopeOf = (path: string): string | null =>
  /\/(conversations|visitors|calls)\b/.exec(path)?.[1] ?? null

/** Whether the key may read these rows at all. */
export const listRequest = (projectId: string, list: string): string =>
  `/public/projects/${encodeURIComponent(projectId)}/${list}`

/** Whether a request that succeeded shows that the key is accepted for the project. */
export const showsProject = (path: string): boolean => path.startsWith('/public/projects/')

/** In turn, until one answer decides: what the refused request is about comes first. */
export function projectRequests(
  projectId: string,
  { path }: Request,
): readonly (readonly [string, QueryParams])[] {
  const names = ['conversations', 'visitors', 'availability']
  const first = /\/visitors\//.test(path) ? 'visitors' : 'conversations'
  const ordered = [first, ...names.filter((name) => name !== first)]
  return ordered.map((name) => [
    listRequest(projectId, name),
    name === 'availability' ? {} : { limit: 1 },
  ])
}

/** What one answer for the project shows; null: the next request has to decide. */
export function readProjectAnswer(failure: ApiFailure | null): ProjectAnswer | null {
  if (failure === null) return { kind: 'accepted' }
  if (isMissingScope(failure)) return null
  if (failure.kind === 'denied')
    return failure.code.startsWith('api_key_') ? { kind: 'refused', failure } : null
  if (failure.kind === 'refused') return null
  return { kind: 'unknown', failure }
}

/** A key that lacks a scope, or whose request was found invalid, has been accepted. */
export function concludeProjectAnswer(failures: readonly ApiFailure[]): ProjectAnswer {
  const isAccepted = (failure: ApiFailure) =>
    isMissingScope(failure) ||
    (failure.kind === 'refused' && failure.status === 400 && !failure.code.startsWith('http_'))
  const [first] = failures
  if (first === undefined || failures.some(isAccepted)) return { kind: 'accepted' }
  return { kind: 'refused', failure: first }
}

/** The failure as it is to be treated, now that the project's answer is known. */
export function judgeRefusal(
  failure: ApiFailure,
  request: Request,
  project: ProjectAnswer,
): ApiFailure {
  if (failure.kind !== 'denied' && failure.kind !== 'refused') return failure
  const { status, code, why, requestId } = failure
  switch (project.kind) {
    case 'accepted': {
      const fields = failure.kind === 'refused' ? failure.fields : []
      return { kind: 'refused', status, code, why, fields, requestId, isOnlyThis: true }
    }
    case 'refused':
      return failure.kind === 'denied' || project.failure.kind !== 'denied'
        ? failure
        : project.failure
    case 'unknown': {
      if (request.method === 'GET' && project.failure.kind === 'aborted') return project.failure
      const reason = project.failure.kind === 'aborted' ? 'it was stopped' : project.failure.why
      // A write that was refused was not done.
      const unsure = `${why}; whether this is about the key could not be found out: ${reason}`
      return { kind: 'transient', why: unsure, mayHaveBeenSent: false, status, requestId }
    }
  }
}
