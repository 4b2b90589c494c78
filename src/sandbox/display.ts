/** Single rows as the service shows them, whether late or not: with shifted times and altered replies. */
import type { EpochMs, Ms } from '../core/time.ts'
import { type Activity, type Conversation, each, type Message, type PhoneCall, type Visitor } from './model.ts'
import { alterReply, replyOffsetMs } from './reply.ts'
import { createRowSample, type RowKind, rowKinds } from './row-sample.ts'
import { purposes } from './seed/random.ts'
import type { ProjectState } from './state.ts'
import type { Switches } from './switches.ts'

export type Display = ReturnType<typeof createDisplay>

export function createDisplay(state: ProjectState, s: Switches, offsets: TimeOffsets) {
  const message = (conversation: Conversation, row: Message): Message => {
    const offset = offsets.of('conversations', conversation.index) + offsets.misdatedBy('messages', row.id)
    return shiftTimes(alterReply(row, s), ['createdAt'], offset + replyOffsetMs(row, s))
  }
  const lastMessageAt = (row: Conversation): EpochMs => {
    const times = [...each(state.messages(row))].map((entry) => message(row, entry).createdAt)
    const last = s['misdated.last'] === 'latest' ? times.at(-1) : times.reduce((a, b) => Math.max(a, b), 0)
    return last ?? row.lastMessageAt
  }
  const showsOtherLast = s['misdated.last'] !== 'real' && (offsets.misdates('messages') || s['reply.seconds'] !== 0)
  return {
    message,
    conversation(row: Conversation): Conversation {
      const times = ['createdAt', 'updatedAt', 'lastMessageAt', 'handledAt', 'waitingSince'] as const
      const shifted = shiftTimes(row, times, offsets.of('conversations', row.index))
      const shown = showsOtherLast ? { ...shifted, lastMessageAt: lastMessageAt(row) } : shifted
      return offsets.isUndated('conversations', row.index)
        ? { ...shown, [s['conversations.since']]: Number.NaN }
        : shown
    },
    visitor(row: Visitor): Visitor {
      const shown = shiftTimes(row, ['createdAt', 'lastSeenAt', 'updatedAt'], offsets.of('visitors', row.index))
      return offsets.isUndated('visitors', row.index) ? { ...shown, [s['visitors.since']]: Number.NaN } : shown
    },
    call(row: PhoneCall): PhoneCall {
      const shown = shiftTimes(row, ['startedAt', 'endedAt', 'recordedAt'], offsets.of('calls', row.index))
      return offsets.isUndated('calls', row.index) ? { ...shown, [s['calls.by']]: Number.NaN } : shown
    },
    activity(visitor: Visitor, row: Activity, k: number) {
      const offset = offsets.of('visitors', visitor.index) + offsets.misdatedBy('activity', visitor.index, k)
      return shiftTimes(row, ['at'], offset)
    },
  }
}

/** A time that is null stays null. */
function shiftTimes<T extends { readonly [F in Field]: EpochMs | null }, Field extends keyof T>(
  row: T,
  fields: readonly Field[],
  offset: Ms,
): T {
  if (offset === 0) return row
  const shifted = fields.map((field) => [field, row[field] === null ? null : row[field] + offset])
  return { ...row, ...Object.fromEntries(shifted) }
}

export type TimeOffsets = ReturnType<typeof createTimeOffsets>

export function createTimeOffsets({ seedData }: ProjectState, s: Switches) {
  const misdated = createRowSample(seedData, purposes.misdated, s['misdated.share'], s['misdated.of'])
  const undated = createRowSample(seedData, purposes.undated, s['undated.share'], s['undated.of'])
  const zone: Ms = s['rows.zone'] * 3_600_000
  const common = s['rows.offset'] * 1000 + zone
  const misdatedBy = (kind: RowKind, a: number, b?: number): Ms =>
    misdated.has(kind, a, b) ? s['misdated.seconds'] * 1000 : 0
  return {
    any:
      zone !== 0 ||
      s['rows.offset'] !== 0 ||
      s['reply.seconds'] !== 0 ||
      rowKinds.some((kind) => misdated.affects(kind) || undated.affects(kind)),
    /** The time by which its list is ordered is null. */
    isUndated: undated.has,
    /** Included in the offsets, but lists are ordered without it. */
    zone,
    misdates: misdated.affects,
    misdatedBy,
    of: (kind: RowKind, index: number): Ms => common + misdatedBy(kind, index),
  }
}
