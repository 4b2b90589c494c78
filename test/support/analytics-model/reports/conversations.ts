/**
 * The model of the reports on conversations: those begun on a day, the backlog, and the AI's share.
 */
import type { ModelFacts } from '../facts.ts'
import { countWhere, groupBy, median, p90, share } from '../grouping.ts'
import { daysBetween, monthOf, startOfDay } from '../local-clock.ts'
import { type ModelRow, type ModelSettings, seconds } from '../raw-rows.ts'

/** By the day on which they were created. */
export function conversationDays({ conversations }: ModelFacts): ModelRow[] {
  const dated = conversations.filter(({ created_date }) => created_date !== null)
  return [...groupBy(dated, ({ created_date }) => String(created_date))].map(([date, ofDay]) => {
    const humanSeconds = ofDay
      .filter(({ is_complete }) => is_complete)
      .map(({ first_human_seconds }) => first_human_seconds)
      .filter((value) => value !== null)
    return {
      date,
      started: ofDay.length,
      incomplete: countWhere(ofDay, ({ is_complete }) => !is_complete),
      unanswered_conversations: countWhere(ofDay, ({ answered_by }) => answered_by === 'nobody'),
      ai_only: countWhere(ofDay, ({ answered_by }) => answered_by === 'ai'),
      human_and_ai: countWhere(ofDay, ({ answered_by }) => answered_by === 'human and ai'),
      human_only: countWhere(ofDay, ({ answered_by }) => answered_by === 'human'),
      one_touch: countWhere(ofDay, ({ is_one_touch }) => is_one_touch),
      reopened: countWhere(ofDay, ({ reopens_seen }) => reopens_seen > 0),
      history_complete: countWhere(ofDay, ({ history_complete }) => history_complete),
      with_first_human: humanSeconds.length,
      first_human_median_seconds: median(humanSeconds),
      first_human_p90_seconds: p90(humanSeconds),
    }
  })
}

/**
 * Counts anew for each day which conversations were open, and which visitors waited, when it ended:
 * from the first day on which anything happened.
 */
export function backlogDays(facts: ModelFacts, settings: ModelSettings, until: string): ModelRow[] {
  const { states, waits } = facts
  const from = [
    ...states.map(({ from_date }) => from_date),
    ...waits.map(({ started_date }) => started_date),
  ].sort()[0]
  const opened = states.filter(({ state }) => state === 'open')
  return daysBetween(from ?? '9999', until).map((date) => ({
    date,
    opened: countWhere(
      opened,
      ({ state_number, from_date }) => state_number === 1 && from_date === date,
    ),
    reopenings: countWhere(
      opened,
      ({ state_number, from_date }) => state_number > 1 && from_date === date,
    ),
    handlings: countWhere(
      states,
      ({ state, from_date }) => state === 'handled' && from_date === date,
    ),
    open_at_end: countWhere(
      opened,
      ({ from_date, to_date }) => from_date <= date && (to_date === null || to_date > date),
    ),
    waiting_at_end: countWhere(
      waits,
      ({ open_from_date, ended_date }) =>
        open_from_date !== null &&
        open_from_date <= date &&
        (ended_date === null || ended_date > date),
    ),
    reopens_known: startOfDay(date, settings.timeZone) >= seconds(settings.mirroredSince),
  }))
}

/** Beside the calls, of which the worlds have none. */
export function contactMonths({ conversations }: ModelFacts): ModelRow[] {
  const dated = conversations.filter(({ created_date }) => created_date !== null)
  return [...groupBy(dated, ({ created_date }) => monthOf(String(created_date)))].map(
    ([month, ofMonth]) => {
      const visitors = new Set(
        ofMonth.map(({ visitor_id }) => visitor_id).filter((id) => id !== null),
      ).size
      return {
        month,
        conversations: ofMonth.length,
        calls: 0,
        writing_visitors: visitors,
        visitors,
      }
    },
  )
}

/** By the month in which they were created. */
export function aiMonths({ conversations }: ModelFacts): ModelRow[] {
  const dated = conversations.filter(({ created_date }) => created_date !== null)
  return [...groupBy(dated, ({ created_date }) => monthOf(String(created_date)))].map(
    ([month, ofMonth]) => {
      const aiOnly = ofMonth.filter(({ answered_by }) => answered_by === 'ai')
      const withAi = countWhere(ofMonth, ({ ai_messages }) => ai_messages > 0)
      return {
        month,
        conversations: ofMonth.length,
        with_ai: withAi,
        ai_only: aiOnly.length,
        ai_only_and_handled: countWhere(
          aiOnly,
          ({ handled_at, last_utterance_by }) =>
            handled_at !== null && last_utterance_by !== null && last_utterance_by !== 'visitor',
        ),
        handed_over: countWhere(ofMonth, ({ answered_by }) => answered_by === 'human and ai'),
        ai_only_share: share(aiOnly.length, withAi),
      }
    },
  )
}
