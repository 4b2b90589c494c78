/**
 * What takes a batch back: the write-backs that restore what was before, and what is left. Pure.
 */
import type { FieldName } from '../../../schema/operation-specs.ts'
import { toMessageSide } from '../../mirror/core/message-fields.ts'
import { parseTime } from '../../values/time.ts'
import type { NotReverted } from './batches.ts'
import { toCommonValues } from './common-fields.ts'
import {
  describeValue,
  type FieldValue,
  fieldNames,
  type MirroredTarget,
  toFieldValues,
} from './field-kinds.ts'
import { type Operation, operationTypes } from './operations.ts'
import type { Writeback } from './outbox-entry.ts'
import { isSameValue } from './review/guards.ts'
import { effectOf, type WritebackRequest } from './writeback-request.ts'

/** A change of `handled_at` that the mirror noticed; null = open. In order. */
export type SeenFlagChange = {
  readonly seenAt: string
  readonly old: string | null
  readonly new: string | null
}

export type LaneToRevert = {
  /** In the order in which they were sent. */
  readonly rows: readonly Writeback[]
  /** As it is now; null if the mirror does not have it. */
  readonly mirrored: MirroredTarget | null
  readonly changes: readonly SeenFlagChange[]
}

/** At most one request of each operation. */
type LaneRevert = {
  readonly requests: readonly WritebackRequest[]
  readonly notReverted: readonly NotReverted[]
}

export function revertLane(lane: LaneToRevert): LaneRevert {
  const unclear = lane.rows.flatMap((row) => {
    if (row.status === 'sending') return [notReverted(row, 'not_known', 'it is in flight')]
    if (row.status === 'uncertain')
      return [notReverted(row, 'not_known', 'it is uncertain: resolve it first')]
    return row.status === 'succeeded' && !row.request.ok
      ? [notReverted(row, 'not_known', 'the row is not valid')]
      : []
  })
  const sent = lane.rows.filter(({ status }) => status === 'succeeded')
  const lasting = sent.flatMap((row) => {
    const why = operationTypes[row.operation].notRevertible
    return why === null ? [] : [notReverted(row, 'cannot', why)]
  })
  const flags = revertFlags(sent.filter(sets('handled')), lane)
  const others = revertOthers(sent, lane)
  return {
    requests: [...flags.requests, ...others.requests],
    notReverted: [...unclear, ...lasting, ...flags.notReverted, ...others.notReverted],
  }
}

const effectIn = ({ request }: Writeback) => (request.ok ? effectOf(request.request) : {})
const sets = (field: FieldName) => (row: Writeback) => effectIn(row)[field] !== undefined

/** What the service showed before anything of it could have arrived. */
const stateBefore = ({ evidence }: Writeback) => evidence.firstBefore ?? evidence.before

function notReverted(
  { id, operation, target }: Writeback,
  outcome: NotReverted['outcome'],
  why: string,
): NotReverted {
  return { id, operation, target, outcome, why }
}

const noRevert: LaneRevert = { requests: [], notReverted: [] }

/** A reply reopens a conversation, so it takes part. `sent`: replies and flags that arrived. */
function revertFlags(sent: readonly Writeback[], { mirrored, changes }: LaneToRevert): LaneRevert {
  const first = sent.at(0)
  const last = sent.at(-1)
  if (first === undefined || last === undefined) return noRevert
  const why = (outcome: NotReverted['outcome'], text: string): LaneRevert => ({
    requests: [],
    notReverted: sent
      .filter(({ operation }) => operation === 'handled')
      .map((row) => notReverted(row, outcome, text)),
  })
  const before = handledBefore(sent, mirrored, changes)
  const set = effectIn(last).handled === true
  if (before === undefined) return why('not_known', 'what was before is not stored')
  if (before === set) return why('already_so', `it was ${describeValue('handled', before)} before`)
  if (mirrored !== null && isReadAfter(mirrored, last)) {
    const handledAt = mirrored.handledAt ?? null
    if ((handledAt !== null) === before)
      return why('already_so', `it is ${describeValue('handled', before)} again`)
    if (set && !isOwnFlag(handledAt, last, changes))
      return why('stands_against', `someone marked it handled at ${handledAt}`)
    // To mark it handled would hide that the visitor waits. An unknown sender counts as a visitor.
    const { lastMessageAt: at, lastMessageSenderType: by } = mirrored
    if (before && at != null && by != null && toMessageSide(by) !== 'team' && isSince(at, last))
      return why('stands_against', `a visitor wrote at ${at}`)
  }
  return { requests: [toRequest('handled', first.target, { handled: before })], notReverted: [] }
}

/** A visitor's message. The clocks of the service and of this machine may differ by hours. */
function isSince(writtenAt: string, last: Writeback): boolean {
  // Otherwise the reply would be the last message.
  if (last.operation === 'message') return true
  const lastBefore = stateBefore(last)?.lastMessageAt
  return lastBefore ? isEarlier(lastBefore, writtenAt) : !isEarlier(writtenAt, last.sentAt)
}

/** The mirror reads the target just after a send: what it notices in these seconds is ours. */
const ownChangeSeconds = 2

function isOwnFlag(
  handledAt: string | null,
  last: Writeback,
  changes: readonly SeenFlagChange[],
): boolean {
  const set = changes.filter(
    ({ seenAt, new: value }) => value !== null && !isEarlier(seenAt, last.sentAt),
  )
  const until = (parseTime(last.finishedAt) ?? 0) + ownChangeSeconds
  const own = set.filter(({ seenAt }, index) => index === 0 || (parseTime(seenAt) ?? 0) <= until)
  return own.length === 0 || own.some(({ new: value }) => parseTime(value) === parseTime(handledAt))
}

/** Undefined if that is not stored. */
function handledBefore(
  sent: readonly Writeback[],
  mirrored: MirroredTarget | null,
  changes: readonly SeenFlagChange[],
): boolean | undefined {
  const [first] = sent
  const known = first && stateBefore(first)?.handledAt
  if (known !== undefined) return known !== null
  const flag = sent.find(({ operation }) => operation === 'handled')
  const read = flag && stateBefore(flag)?.handledAt
  const recorded = changes.find(({ seenAt }) => !isEarlier(seenAt, first?.sentAt ?? null))
  if (recorded !== undefined && recorded.old !== null) return true
  // The mirror saw the conversation only after the reply, which had reopened it.
  if (first?.operation === 'message' && first.targetSnapshot === null) return undefined
  if (recorded !== undefined) return false
  // Without a recorded change, the mirror still shows what was before the reply.
  if (first?.operation === 'message' && mirrored !== null) return mirrored.handledAt != null
  return read === undefined ? undefined : read !== null
}

/** By the operation that set each last. */
function revertOthers(sent: readonly Writeback[], { mirrored }: LaneToRevert): LaneRevert {
  const payloads = new Map<Writeback, Record<string, FieldValue>>()
  const left: NotReverted[] = []
  for (const field of fieldNames) {
    const rows = field === 'handled' ? [] : sent.filter(sets(field))
    const last = rows.at(-1)
    if (last === undefined) continue
    const verdict = revertField(field, rows, last, mirrored)
    const setBy = [...payloads.keys()].find(({ operation }) => operation === last.operation) ?? last
    if ('restore' in verdict)
      payloads.set(setBy, { ...payloads.get(setBy), [field]: verdict.restore })
    else left.push(...rows.map((row) => notReverted(row, verdict.outcome, verdict.why)))
  }
  const requests = [...payloads].map(([{ operation, target }, payload]) =>
    toRequest(operation, target, payload),
  )
  return { requests, notReverted: left }
}

/** `last`: of the rows that set the field. */
function revertField(
  field: FieldName,
  rows: readonly Writeback[],
  last: Writeback,
  mirrored: MirroredTarget | null,
): { readonly restore: FieldValue } | Pick<NotReverted, 'outcome' | 'why'> {
  const [first = last] = rows
  const before = toFieldValues(stateBefore(first))[field]
  const set = effectIn(last)[field]
  if (before === undefined)
    return { outcome: 'not_known', why: `the ${field} that was there before is not stored` }
  // The service may hold what we would not send.
  if (operationTypes[last.operation].fields[field]?.schema.safeParse(before).success !== true)
    return {
      outcome: 'cannot',
      why: `the ${field} that was there before is empty, too long or not one line of text`,
    }
  if (before === set) return { outcome: 'already_so', why: `the ${field} was the same before` }
  if (mirrored === null || isEarlier(mirrored.syncedAt, last.sentAt)) return { restore: before }
  const current = toFieldValues(mirrored)[field]
  const isAfter = isReadAfter(mirrored, last)
  if (isAfter && current === before)
    return { outcome: 'already_so', why: `the ${field} is as it was before` }
  const ours = isAfter ? [set] : [before, ...rows.map((row) => effectIn(row)[field])]
  if (ours.some((value) => isSameValue(current, value))) return { restore: before }
  return { outcome: 'stands_against', why: `someone changed the ${field} since` }
}

/** Not in the very second of the send: the mirror may show what was there before. */
function isReadAfter({ syncedAt }: MirroredTarget, { sentAt }: Writeback): boolean {
  return sentAt === null || isEarlier(sentAt, syncedAt)
}

function isEarlier(a: string, b: string | null): boolean {
  return (parseTime(a) ?? 0) < (parseTime(b) ?? 0)
}

function toRequest(
  operation: Operation,
  target: string,
  payload: Readonly<Record<string, FieldValue>>,
) {
  return { operation, target, payload, ...toCommonValues({}) } as WritebackRequest
}
