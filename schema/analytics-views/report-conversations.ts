/** Conversations by the day and month of their creation, and those that are open now. */
import type { AnalyticsView } from './analytics-view.ts'
import { mergeByKey, percentilesOf } from './by-windows.ts'
import {
  count,
  date,
  duration,
  key,
  meanSeconds,
  optional,
  projectId,
  share,
  tableColumn,
  text,
  time,
  weighted,
} from './view-columns.ts'

/** Conversations by the day of their creation: who answered them, and how long the first human answer took. */
const measures = {
  started: count('conversations created on this day'),
  incomplete: count('of these, those whose messages, times or senders are not all known'),
  unanswered_conversations: count('in which nobody of us wrote'),
  ai_only: count('in which the AI wrote and no human'),
  human_and_ai: count('in which both wrote'),
  human_only: count('in which humans wrote and not the AI'),
  one_touch: count('handled after one run of human messages, with no reopening seen; see history_complete'),
  reopened: count('with a reopening seen; see history_complete'),
  history_complete: count('watched from their creation on: shares of one_touch and reopened are exact only of these'),
  with_first_human: count('complete conversations in which a human answered the visitor'),
  first_human_median_seconds: optional(meanSeconds('median of their first human answer')),
  first_human_p90_seconds: optional(duration('nine tenths of these answers took this long at most')),
}

export const reportConversationDay: AnalyticsView = {
  note: 'Conversations by the day of their creation, as they are now. unanswered_conversations, ai_only, human_and_ai and human_only add up to started.',
  caveat: 'What happened later counts for the day of creation, so the newest days still change.',
  key: ['project_id', 'date'],
  columns: { project_id: projectId, date: date('the day of creation'), ...measures },
  select: () =>
    mergeByKey({
      key: ['project_id', 'date'],
      columns: measures,
      sources: [
        {
          key: ['project_id', 'created_date'],
          columns: {
            started: 'count(*)',
            incomplete: 'count(case when not is_complete then 1 end)',
            unanswered_conversations: "count(case when answered_by = 'nobody' then 1 end)",
            ai_only: "count(case when answered_by = 'ai' then 1 end)",
            human_and_ai: "count(case when answered_by = 'human and ai' then 1 end)",
            human_only: "count(case when answered_by = 'human' then 1 end)",
            one_touch: 'count(case when is_one_touch then 1 end)',
            reopened: 'count(case when reopens_seen > 0 then 1 end)',
            history_complete: 'count(case when history_complete then 1 end)',
          },
          from: 'fct_conversation where created_date is not null group by project_id, created_date',
        },
        {
          key: ['project_id', 'date'],
          columns: {
            with_first_human: 'values_counted',
            first_human_median_seconds: 'median_value',
            first_human_p90_seconds: 'p90_value',
          },
          from: `(${percentilesOf({
            groups: { project_id: 'project_id', date: 'created_date' },
            value: 'first_human_seconds',
            from: `fct_conversation
        where first_human_seconds is not null and is_complete and created_date is not null`,
          })}) first_answers`,
        },
      ],
    }),
}

/** What the AI did with the conversations of each month. */
export const reportAiMonth: AnalyticsView = {
  note: 'Conversations of each month with the AI: which it answered alone, and which it handed over.',
  caveat:
    'ai_only says that no human wrote. It does not say that the visitor was helped: the service shows no rating and no request for a human.',
  key: ['project_id', 'month'],
  columns: {
    project_id: projectId,
    month: date('first day of the month in which the conversations were created'),
    conversations: count('conversations'),
    with_ai: count('in which the AI wrote'),
    ai_only: count('in which the AI wrote and no human'),
    ai_only_and_handled: count('of these, those that are handled and whose last message is not the visitor’s'),
    handed_over: count('in which the AI and a human wrote'),
    ai_only_share: optional(weighted(share('ai_only / with_ai; null = the AI wrote in none'), 'with_ai')),
  },
  select: () => `
    select c.project_id, d.month,
      count(*) as conversations,
      count(case when c.ai_messages > 0 then 1 end) as with_ai,
      count(case when c.answered_by = 'ai' then 1 end) as ai_only,
      count(case when c.answered_by = 'ai' and not c.is_open and c.last_utterance_by <> 'visitor' then 1 end)
        as ai_only_and_handled,
      count(case when c.answered_by = 'human and ai' then 1 end) as handed_over,
      cast(count(case when c.answered_by = 'ai' then 1 end) as double precision)
        / nullif(count(case when c.ai_messages > 0 then 1 end), 0) as ai_only_share
    from fct_conversation c
    join dim_date d on d.project_id = c.project_id and d.date = c.created_date
    group by c.project_id, d.month`,
}

/** The queue now: every open conversation. */
export const reportOpen: AnalyticsView = {
  note: 'Every open conversation: who waits, since when, and who wrote last.',
  caveat:
    'As of the last sync: see dim_project.as_of. waiting_since is our own; the service’s is conversations.waiting_since.',
  key: ['project_id', 'conversation_id'],
  columns: {
    project_id: projectId,
    conversation_id: key('the conversation'),
    visitor_id: optional(key('the visitor')),
    visitor_name: optional(text('name of the visitor; null also if the settings leave out personal data')),
    visitor_email: optional(text('address of the visitor; null also if the settings leave out personal data')),
    origin: tableColumn('fct_conversation', 'origin'),
    assigned_agent_id: tableColumn('fct_conversation', 'assigned_agent_id'),
    created_at: tableColumn('fct_conversation', 'created_at'),
    waiting_since: optional(time('since when the visitor has been waiting; null = the visitor is not waiting')),
    waiting_seconds: optional(duration('from waiting_since until now')),
    age_seconds: optional(duration('from created_at until now')),
    last_utterance_by: tableColumn('fct_conversation', 'last_utterance_by'),
    last_utterance_at: tableColumn('fct_conversation', 'last_utterance_at'),
    first_human_at: tableColumn('fct_conversation', 'first_human_at'),
    human_messages: tableColumn('fct_conversation', 'human_messages'),
  },
  select: (sql) => `
    select c.project_id, c.conversation_id, c.visitor_id,
      case when s.personal_data then v.name end as visitor_name,
      case when s.personal_data then v.email end as visitor_email,
      c.origin, c.assigned_agent_id, c.created_at, c.waiting_since,
      ${sql.epoch(sql.now)} - ${sql.epoch('c.waiting_since')} as waiting_seconds,
      ${sql.epoch(sql.now)} - ${sql.epoch('c.created_at')} as age_seconds,
      c.last_utterance_by, c.last_utterance_at, c.first_human_at, c.human_messages
    from fct_conversation c
    left join facts_state s on s.project_id = c.project_id
    left join visitors v on v.project_id = c.project_id and v.id = c.visitor_id and v.deleted_at is null
    where c.is_open`,
}
