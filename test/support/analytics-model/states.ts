/** The model of fct_state: the spans in which a conversation was open or handled, as far as anybody saw. */
import type { ModelConversation } from './conversation.ts'
import type { LocalClock } from './local-clock.ts'
import { seconds, toTime } from './raw-rows.ts'

export type StateSpan = {
  readonly state: 'open' | 'handled'
  readonly beganBy: 'created' | 'service' | 'message' | 'seen' | 'unknown'
  readonly from: number
  readonly to: number | null
}

/** Alternates between open and handled, beginning with open. Empty if nobody knows when the conversation began. */
export function statesOf(conversation: ModelConversation): StateSpan[] {
  const { createdAt, handledAt } = conversation
  if (createdAt === null) return []
  const handlings = handlingsOf(conversation)
  const [first] = handlings
  if (first === undefined) return [{ state: 'open', beganBy: 'created', from: createdAt, to: null }]
  const spans: StateSpan[] = []
  let open: Pick<StateSpan, 'beganBy' | 'from'> | null = { beganBy: 'created', from: Math.min(createdAt, first) }
  handlings.forEach((at, index) => {
    if (open !== null) spans.push({ state: 'open', ...open, to: at })
    const next = handlings[index + 1] ?? null
    open = at === handledAt && next === null ? null : findReopening(conversation, at, next)
    spans.push({ state: 'handled', beganBy: 'service', from: at, to: open?.from ?? null })
  })
  if (open !== null) spans.push({ state: 'open', ...(open as Pick<StateSpan, 'beganBy' | 'from'>), to: null })
  return spans
}

/**
 * Every moment at which `handled_at` ever stood: now, or before or after a change. One that is later than the present
 * one was withdrawn by the service: otherwise a handled conversation would end open.
 */
function handlingsOf({ row, handledChanges }: ModelConversation): number[] {
  const times = [row.handled_at, ...handledChanges.flatMap((change) => [change.old_value, change.new_value])]
  const moments = new Set(times.filter((time) => time !== null).map(seconds))
  const latest = row.handled_at === null ? Number.POSITIVE_INFINITY : seconds(row.handled_at)
  return [...moments].filter((at) => at <= latest).sort((a, b) => a - b)
}

/**
 * The reopening after a handling: the first utterance after it (a service may add a system event to each handling), as long as that came before the change was seen and
 * before the next handling; else when the change was seen, or the next handling, if that was earlier.
 */
function findReopening(
  { timed, handledChanges }: ModelConversation,
  handled: number,
  next: number | null,
): Pick<StateSpan, 'beganBy' | 'from'> | null {
  const seen = handledChanges
    .filter(({ old_value }) => old_value !== null && seconds(old_value) === handled)
    .map(({ seen_at }) => seconds(seen_at))
    .sort((a, b) => a - b)[0]
  const latest = Math.min(seen ?? Number.POSITIVE_INFINITY, next ?? Number.POSITIVE_INFINITY)
  if (!Number.isFinite(latest)) return null
  const message = timed.find(({ at, role }) => role !== 'event' && at > handled && at <= latest)
  if (message !== undefined) return { beganBy: 'message', from: message.at }
  return { beganBy: seen === undefined ? 'unknown' : 'seen', from: Math.max(latest, handled) }
}

export function toStateRow(span: StateSpan, number: number, clock: LocalClock) {
  return {
    state_number: number,
    state: span.state,
    from_at: toTime(span.from),
    from_date: clock.localTime(span.from).date,
    from_hour: clock.localTime(span.from).hour,
    began_by: span.beganBy,
    to_at: span.to === null ? null : toTime(span.to),
    to_date: clock.date(span.to),
    seconds: span.to === null ? null : span.to - span.from,
    business_seconds: clock.businessSeconds(span.from, span.to),
  }
}

export type StateRow = ReturnType<typeof toStateRow>
