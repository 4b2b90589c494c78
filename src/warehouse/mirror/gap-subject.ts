/** What a gap is about: the same thing noticed twice is one gap. */
import type { Gap } from '../../core/row.ts'
import { rfc3339 } from '../../core/time.ts'

export function identifyGap({ from, to, reason, subject }: Gap): string {
  if (subject !== undefined) return subject
  if (from === null && to === null) return `reason:${reason}`
  if (from !== null && from === to) return `second:${rfc3339(from)}`
  return `span:${from === null ? '' : rfc3339(from)}/${to === null ? '' : rfc3339(to)}`
}
