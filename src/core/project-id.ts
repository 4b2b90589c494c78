/** What a project's id looks like, and what was probably written instead of it. */
import { uuidPattern } from './path-segment.ts'

const whoKnows = 'whoever created the key chose its project in the app, under Settings > API keys'

/** Null if it is a UUID, as the service documents. The text itself is not repeated: it may be anything. */
export function projectIdProblem(text: string): string | null {
  if (uuidPattern.test(text)) return null
  const within = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/i.exec(text)?.[0]
  if (within !== undefined) return `this is more than the id of a project: write only the id: ${within.toLowerCase()}`
  return `a project's id is a UUID like 7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f, not a name; ${whoKnows}`
}
