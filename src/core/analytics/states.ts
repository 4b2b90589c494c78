/**
 * The spans in which a conversation was open and handled. The service shows only its present state: earlier ones follow
 * from the changes that two reads showed. A handled span that is over ended with the first utterance after it, at the
 * latest when we saw the change or with the next handling.
 */
import type { EpochSeconds } from '../time.ts'
import type { Calendar } from './calendar.ts'
import type { ConversationHistory } from './conversation-history.ts'
import type { StateBeginning, StateRow } from './fact-rows.ts'
import type { TimedMessage } from './turns.ts'

type History = Pick<ConversationHistory, 'id' | 'createdAt' | 'handledAt' | 'handledChanges'>

type Handling = {
  readonly at: EpochSeconds
  /** When a read first showed that it no longer held; null = none did. */
  readonly goneAt: EpochSeconds | null
}

type Beginning = { readonly at: EpochSeconds; readonly by: StateBeginning }

/** `messages`: in order. None for a conversation without a creation time. */
export function deriveStates(history: History, messages: readonly TimedMessage[], calendar: Calendar): StateRow[] {
  if (history.createdAt === null) return []
  const handlings = handlingsOf(history)
  const rows: StateRow[] = []
  const add = (state: StateRow['state'], began: Beginning, to: EpochSeconds | null) =>
    rows.push(stateRow({ id: history.id, number: rows.length + 1, state, began, to }, calendar))
  let opened: Beginning | null = {
    at: Math.min(history.createdAt, handlings[0]?.at ?? history.createdAt),
    by: 'created',
  }
  for (const [index, handling] of handlings.entries()) {
    if (opened !== null) add('open', opened, handling.at)
    const isPresent = handling.at === history.handledAt
    opened = isPresent ? null : reopeningOf(handling, handlings[index + 1], messages)
    add('handled', { at: handling.at, by: 'service' }, opened?.at ?? null)
  }
  if (opened !== null) add('open', opened, null)
  return rows
}

/** All values that `handled_at` ever had, in order; a value later than the present one was withdrawn. */
function handlingsOf({ handledAt, handledChanges }: History): readonly Handling[] {
  if (handledChanges.length === 0) return handledAt === null ? [] : [{ at: handledAt, goneAt: null }]
  const goneAt = new Map<EpochSeconds, EpochSeconds | null>()
  for (const change of handledChanges) {
    if (change.new !== null && !goneAt.has(change.new)) goneAt.set(change.new, null)
    if (change.old !== null) goneAt.set(change.old, Math.min(change.seenAt, goneAt.get(change.old) ?? change.seenAt))
  }
  if (handledAt !== null && !goneAt.has(handledAt)) goneAt.set(handledAt, null)
  return [...goneAt]
    .map(([at, gone]) => ({ at, goneAt: gone }))
    .filter(({ at }) => handledAt === null || at <= handledAt)
    .sort((a, b) => a.at - b.at)
}

function reopeningOf(
  { at, goneAt }: Handling,
  next: Handling | undefined,
  messages: readonly TimedMessage[],
): Beginning {
  const latest = Math.min(goneAt ?? Number.POSITIVE_INFINITY, next?.at ?? Number.POSITIVE_INFINITY)
  const message = messages.find((candidate) => candidate.at > at && candidate.role !== 'event')
  if (message !== undefined && message.at <= latest) return { at: message.at, by: 'message' }
  // Never before the handling: our clock, which says when we saw the change, may be behind that of the service.
  return { at: Number.isFinite(latest) ? Math.max(latest, at) : at, by: goneAt === null ? 'unknown' : 'seen' }
}

type Span = {
  readonly id: string
  readonly number: number
  readonly state: StateRow['state']
  readonly began: Beginning
  readonly to: EpochSeconds | null
}

function stateRow({ id, number, state, began, to }: Span, calendar: Calendar): StateRow {
  return {
    conversation_id: id,
    state_number: number,
    state,
    from_at: began.at,
    from_date: calendar.dateOf(began.at),
    from_hour: calendar.hourOf(began.at),
    began_by: began.by,
    to_at: to,
    to_date: to === null ? null : calendar.dateOf(to),
    seconds: to === null ? null : to - began.at,
    business_seconds: to === null ? null : calendar.businessSeconds(began.at, to),
  }
}
