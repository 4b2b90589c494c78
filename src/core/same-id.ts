/** One identity for an id in all its spellings: UUIDs are equal whatever the case of their letters, other ids are texts. */
import { uuidPattern } from './path-segment.ts'

/** Equal for ids that are the same. */
export function idIdentity(id: string): string {
  return uuidPattern.test(id) ? id.toLowerCase() : id
}

export function isSameId(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === 'string' && typeof b === 'string' && idIdentity(a) === idIdentity(b))
}
