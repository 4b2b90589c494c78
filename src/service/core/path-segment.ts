/** Ids as segments of a path. One that would change the path is refused before anything is sent. */
import { ApiError } from './api-failure.ts'

export const uuidPattern = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i

/** Servers refuse request lines over about 8,000 bytes. The service's ids have 36 characters. */
const maxIdLength = 256

/** In its own letters: a service may compare them as texts. Throws ApiError if it is unusable. */
export function pathSegment(id: string): string {
  const why = pathSegmentProblem(id)
  if (why === null) return encodeURIComponent(id)
  const shown = JSON.stringify(id.length > 60 ? `${id.slice(0, 60)}…` : id)
  throw new ApiError({
    kind: 'refused',
    status: 0,
    code: 'unusable_id',
    why: `the id ${shown} ${why}, so it cannot be requested`,
    fields: [],
    requestId: null,
  })
}

/** Null if it is usable. Proxies and servers decode escapes, some twice, before they resolve it. */
export function pathSegmentProblem(id: string): string | null {
  if (id === '') return 'is empty'
  if (id.length > maxIdLength) return `has ${id.length} characters`
  if (!id.isWellFormed()) return 'contains half a surrogate pair'
  return /^\.+$|[/\\%?#\p{Cc}]/u.test(id) ? 'would change the path' : null
}

/** Equal for ids that are the same. */
export const idIdentity = (id: string): string => (uuidPattern.test(id) ? id.toLowerCase() : id)

export function isSameId(a: unknown, b: unknown): boolean {
  return (
    a === b || (typeof a === 'string' && typeof b === 'string' && idIdentity(a) === idIdentity(b))
  )
}

const whoKnows = 'whoever created the key chose its project in the app, under Settings > API keys'

/** Null if it is a UUID. The text is not repeated: it may be anything. */
export function projectIdProblem(text: string): string | null {
  if (uuidPattern.test(text)) return null
  const within = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/i.exec(text)?.[0]
  if (within !== undefined)
    return `this is more than the id of a project: write only the id: ${within.toLowerCase()}`
  return (
    "a project's id is a UUID like 7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f, " +
    `not a name; ${whoKnows}`
  )
}
