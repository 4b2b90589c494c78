/**
 * Whether a service lists only some messages of a conversation without saying so: its longest lists
 * all have the same length, and do not show how their conversations began, or not the last message
 * that the conversation shows. Pure.
 */
import { type EpochSeconds, rfc3339, type Seconds } from '../../values/time.ts'

/**
 * A list that was read whole. `began`, `lastAt`: when its conversation began, and when it had its
 * last message. `oldest`, `newest`: the rows. Null: not known.
 */
export type ListLength = {
  readonly parentId: string
  readonly rows: number
  readonly began: EpochSeconds | null
  readonly lastAt: EpochSeconds | null
  readonly oldest: EpochSeconds | null
  readonly newest: EpochSeconds | null
}

/** Nothing is concluded from shorter lists, of which many have the same length. */
const minLength = 10
/** So many lists do not end at one length by chance, if fewer are of about that length. */
const minLists = 3
const nearLengths = 3
/** Conversations whose lists show their beginning begin with their first message. */
const maxShareLate = 0.1
const beginToleranceSeconds: Seconds = 2

/** The list shows the first message of its conversation, so it lacks no earlier ones. */
export function showsBeginning({ began, oldest }: Pick<ListLength, 'began' | 'oldest'>): boolean {
  return began !== null && oldest !== null && oldest <= began + beginToleranceSeconds
}

export function isWhole(list: ListLength): boolean {
  const { lastAt, newest } = list
  return showsBeginning(list) && (lastAt === null || (newest !== null && newest >= lastAt))
}

export const mayBeLimit = (rows: number): boolean => rows >= minLength

/** `lists`: the longest ones. Returns the number of rows that no list exceeds, or null. */
export function suspectListCap(lists: readonly ListLength[]): number | null {
  const longest = lists.reduce((most, { rows }) => Math.max(most, rows), 0)
  if (!mayBeLimit(longest)) return null
  const ofLongest = lists.filter(({ rows }) => rows === longest)
  const isCut = (list: ListLength) => !isWhole(list)
  const cut = ofLongest.filter(isCut)
  if (cut.length === 0) return null
  const shorter = lists.filter(({ rows }) => rows < longest && rows > 0)
  const late = shorter.filter(isCut).length
  if (shorter.length >= minLists && late <= shorter.length * maxShareLate) return longest
  const near = shorter.filter(({ rows }) => rows >= longest - nearLengths).length
  return cut.length >= minLists && ofLongest.length > near ? longest : null
}

const capReasonStart = 'the service seems to list at most '

/** Stored in `sync_gaps`. */
export function capReason(most: number): string {
  return `${capReasonStart}${most} messages of a conversation, so earlier ones may be missing`
}

export function endReason(shownAt: EpochSeconds): string {
  return (
    `${endReasonStart}${rfc3339(shownAt)}, the time of the last message ` +
    'that the conversation shows'
  )
}

const endReasonStart = 'the list ends before '

export const isEndReason = (reason: string): boolean => reason.startsWith(endReasonStart)
export const isCapReason = (reason: string): boolean => reason.startsWith(capReasonStart)
