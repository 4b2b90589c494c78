/** The words of a review for people, the same on the command line, in files and on pages. Pure. */

import { parseTime } from '../../../values/time.ts'
import { describeValue, fieldNames, isFlag } from '../field-kinds.ts'
import { reviewActions } from '../operations.ts'
import type { NamedEntry, OutboxEntry } from '../outbox-entry.ts'
import { effectOf } from '../writeback-request.ts'
import {
  type FieldChange,
  type ReviewGroup,
  type ReviewOutcome,
  reviewReasons,
  type WritebackReview,
} from './terms.ts'

export const outcomeLabels: Readonly<Record<ReviewOutcome, string>> = {
  would_send: 'will be sent',
  would_change: 'would change',
  already_so: 'already done',
  stands_against: 'would not be sent',
  not_known: 'not known',
}

/** `12 replies: the visitor has written since` · `40 replies, 3 reopen a handled conversation` */
export function describeGroup(
  { action, reason, count, changing, blocked }: ReviewGroup,
  formatCount: (n: number) => string,
): string {
  const [, one, many] = reviewActions[action]
  const subject = `${formatCount(count)} ${count === 1 ? one : many}`
  const why = reason === null ? '' : `: ${reviewReasons[reason][1]}`
  const reopen = changing === 1 ? 'reopens' : 'reopen'
  const isReopening = action === 'reply' && changing > 0
  const reopening = isReopening ? `, ${formatCount(changing)} ${reopen} a handled conversation` : ''
  const waiting = blocked === 0 ? '' : `, ${formatCount(blocked)} behind an uncertain write-back`
  return `${subject}${why}${reopening}${waiting}`
}

/** `open → handled` · `name "Ada" → "Grace"` · `"We have found it."` */
export function describeEffect(
  review: Pick<WritebackReview, 'why' | 'changes' | 'firstWords'>,
): string {
  const { why, changes, firstWords } = review
  const words = firstWords === null ? [] : [JSON.stringify(firstWords)]
  if (why !== null) return [why, ...words].join(' · ')
  const parts = [...changes.map(describeChange), ...words]
  return parts.length === 0 ? 'nothing changes' : parts.join(' · ')
}

export function describeChange({ field, old, new: wanted }: FieldChange): string {
  return (
    `${isFlag(field) ? '' : `${field} `}${describeValue(field, old)} → ` +
    `${describeValue(field, wanted)}`
  )
}

/** Null if nothing changes; of several fields `name: Ada; email: none`. */
export function describeSide(changes: readonly FieldChange[], side: 'old' | 'new'): string | null {
  const values = changes.map(({ field, ...change }) => ({
    field,
    text: describeValue(field, change[side], String),
  }))
  if (values.length <= 1) return values[0]?.text ?? null
  return values.map(({ field, text }) => `${field}: ${text}`).join('; ')
}

/** How old what a review shows is. `formatTime`: of a time, such as `5 min ago`. */
export function describeMirrorAge(asOf: string | null, formatTime: (at: string) => string): string {
  const read =
    asOf === null
      ? 'has never been read to its end'
      : `was last read to its end ${formatTime(asOf)}`
  return `the mirror ${read}; every send looks at the live record first`
}

/** `only if no visitor wrote after message 17`, `not after 2026-01-31T18:00:00Z`. */
export function describeTerms({
  expect,
  expiresAt,
}: Pick<OutboxEntry, 'expect' | 'expiresAt'>): readonly string[] {
  return [
    ...(expect === null
      ? []
      : [
          'only if no visitor wrote after ' +
            `${parseTime(expect) === undefined ? 'message ' : ''}${expect}`,
        ]),
    ...(expiresAt === null ? [] : [`not after ${expiresAt}`]),
  ]
}

/** The order in the file that its effect depends on, what it waits for, and when it leaves. */
export function describeOrder(
  review: Pick<
    WritebackReview,
    'action' | 'position' | 'after' | 'blockedBy' | 'expect' | 'expiresAt'
  >,
): string {
  const { action, position, after, blockedBy } = review
  const dependsOnOrder = action !== 'reply' && action !== 'add_note'
  const parts = [
    ...(after !== null && dependsOnOrder
      ? [after === position ? 'after its reply' : `after row ${after}`]
      : []),
    ...(blockedBy === null ? [] : [`waits for ${shortId(blockedBy)}, which is uncertain`]),
    ...describeTerms(review),
  ]
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`
}

/** `"We have found it."` · `handled` · `name "Ada", email none` */
export function describeRequest(
  entry: Pick<NamedEntry, 'operation' | 'payload' | 'firstWords'>,
): string {
  const { operation, payload, firstWords } = entry
  if (firstWords !== null) return JSON.stringify(firstWords)
  const set = fieldNames.flatMap((field) => {
    const value = effectOf({ operation, payload })[field]
    return value === undefined
      ? []
      : [`${isFlag(field) ? '' : `${field} `}${describeValue(field, value)}`]
  })
  return set.join(', ')
}

/** The end of an id, which is random: ids of one import begin alike, with the time. */
export function shortId(id: string): string {
  return id.slice(-8)
}
