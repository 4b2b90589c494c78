/** What a gap is about: the same thing noticed twice is one gap. */
import { hash } from 'node:crypto'
import type { Gap } from '../../core/row.ts'
import { rfc3339 } from '../../core/time.ts'

export function gapSubject({ from, to, reason, subject }: Gap): string {
  if (subject !== undefined) return subject
  if (from === null && to === null) return `reason:${indexableText(reason)}`
  if (from !== null && from === to) return `second:${rfc3339(from)}`
  return `span:${from === null ? '' : rfc3339(from)}/${to === null ? '' : rfc3339(to)}`
}

/** It is part of a key, and an index holds no long ones; nor does a text hold everything. */
export function indexableText(text: string): string {
  return text.length <= 200 && /^[\x20-\x7e]*$/.test(text) ? text : hash('sha256', text)
}
