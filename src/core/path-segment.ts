/** Ids as parts of a request's path: one that would lead elsewhere, or nowhere, is not asked for. */
import { ApiError } from './api-failure.ts'

const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i

/** Servers refuse request lines of more than about 8,000 bytes; ids of this service have 36. */
const maxIdLength = 256

/** The id as it is written in a path; UUIDs in lower case, as RFC 9562 has them. Throws CallFailed. */
export function pathSegment(id: string): string {
  const why = pathSegmentProblem(id)
  if (why === null) return encodeURIComponent(uuid.test(id) ? id.toLowerCase() : id)
  const shown = JSON.stringify(id.length > 60 ? `${id.slice(0, 60)}…` : id)
  throw new ApiError({
    kind: 'refused',
    status: 0,
    code: 'unusable_id',
    why: `the id ${shown} ${why}, so nothing can be asked about it`,
    fields: [],
    requestId: null,
  })
}

/** Null: it can be one. Proxies and servers undo escapes, some of them twice, before they look where a path leads. */
export function pathSegmentProblem(id: string): string | null {
  if (id === '') return 'is empty'
  if (id.length > maxIdLength) return `has ${id.length} characters`
  if (!id.isWellFormed()) return 'holds half a character'
  return /^\.+$|[/\\%?#\p{Cc}]/u.test(id) ? 'would change the address' : null
}
