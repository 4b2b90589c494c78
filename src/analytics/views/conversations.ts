/** Conversations by the day and month of their creation, and those that are open now. */

import {
  columnsByDay,
  columnsFrom,
  countIf,
  median,
  mergedView,
  p90,
  percentileSource,
  queryView,
  untilNow,
  valuesCounted,
} from './by-windows.ts'
import { type AnalyticsView, kind, orNull, projectId, weighted } from './view-spec.ts'

/** Of conversations `c`. */
export const aiColumns = {
  conversations: [kind.count('conversations'), 'count(*)'],
  with_ai: countIf('in which the AI wrote', 'c.ai_messages > 0'),
  ai_only: countIf('in which the AI wrote and no human', "c.answered_by = 'ai'"),
  ai_only_and_handled: countIf(
    'of these, those that are handled and whose last message is not the visitor’s',
    "c.answered_by = 'ai' and not c.is_open and c.last_utterance_by <> 'visitor'",
  ),
  handed_over: countIf('in which the AI and a human wrote', "c.answered_by = 'human and ai'"),
  ai_only_share: [
    weighted(orNull.share('ai_only / with_ai; null = the AI wrote in none'), 'with_ai'),
    `cast(count(case when c.answered_by = 'ai' then 1 end) as double precision)
    / nullif(count(case when c.ai_messages > 0 then 1 end), 0)`,
  ],
} as const

export const conversationViews = {
  report_conversation_day: mergedView({
    note:
      'Conversations by the day of their creation, as they are now. ' +
      'unanswered_conversations, ai_only, human_and_ai and human_only add up to started.',
    caveat: 'What happened later counts for the day of creation, so the newest days still change.',
    key: { project_id: projectId, date: kind.date('the day of creation') },
    sources: [
      columnsByDay('fct_conversation', 'created_date', {
        started: [kind.count('conversations created on this day'), 'count(*)'],
        incomplete: countIf(
          'of these, those whose messages, times or senders are not all known',
          'not is_complete',
        ),
        unanswered_conversations: countIf('in which nobody of us wrote', "answered_by = 'nobody'"),
        ai_only: countIf('in which the AI wrote and no human', "answered_by = 'ai'"),
        human_and_ai: countIf('in which both wrote', "answered_by = 'human and ai'"),
        human_only: countIf('in which humans wrote and not the AI', "answered_by = 'human'"),
        one_touch: countIf(
          'handled after one run of human messages, with no reopening seen; see history_complete',
          'is_one_touch',
        ),
        reopened: countIf('with a reopening seen; see history_complete', 'reopens_seen > 0'),
        history_complete: countIf(
          'watched from their creation on: shares of one_touch and ' +
            'reopened are exact only of these',
          'history_complete',
        ),
      }),
      percentileSource({
        groups: { project_id: 'project_id', date: 'created_date' },
        value: 'first_human_seconds',
        from:
          'fct_conversation where first_human_seconds is not null and is_complete and ' +
          'created_date is not null',
        columns: {
          with_first_human: valuesCounted(
            'complete conversations in which a human answered the visitor',
          ),
          first_human_median_seconds: median('median of their first human answer'),
          first_human_p90_seconds: p90('nine tenths of these answers took this long at most'),
        },
      }),
    ],
  }),
  report_ai_month: queryView({
    note: 'Conversations of each month with the AI: which it answered alone, and which it handed over.',
    caveat:
      'ai_only says that no human wrote. It does not say that the visitor was helped, or did ' +
      'not ask for a human.',
    key: {
      project_id: [projectId, 'c.project_id'],
      month: [
        kind.date('first day of the month in which the conversations were created'),
        'd.month',
      ],
    },
    columns: aiColumns,
    from: `fct_conversation c
    join dim_date d on d.project_id = c.project_id and d.date = c.created_date
    group by c.project_id, d.month`,
  }),
  report_open: queryView({
    note: 'Every open conversation: who waits, since when, and who wrote last.',
    caveat:
      'As of the last sync: see dim_project.as_of. waiting_since is derived from the ' +
      'messages; what the service says may differ.',
    key: {
      project_id: [projectId, 'c.project_id'],
      conversation_id: [kind.key('the conversation'), 'c.conversation_id'],
    },
    columns: {
      visitor_id: [orNull.key('the visitor'), 'c.visitor_id'],
      visitor_name: [
        orNull.text('name of the visitor; null also if the settings leave out personal data'),
        'case when s.personal_data then v.name end',
      ],
      visitor_email: [
        orNull.text('address of the visitor; null also if the settings leave out personal data'),
        'case when s.personal_data then v.email end',
      ],
      ...columnsFrom('c', 'fct_conversation', 'origin', 'assigned_agent_id', 'created_at'),
      waiting_since: [
        orNull.time('since when the visitor has been waiting; null = the visitor is not waiting'),
        'c.waiting_since',
      ],
      waiting_seconds: untilNow('from waiting_since until now', 'c.waiting_since'),
      age_seconds: untilNow('from created_at until now', 'c.created_at'),
      ...columnsFrom(
        'c',
        'fct_conversation',
        'last_utterance_by',
        'last_utterance_at',
        'first_human_at',
        'human_messages',
      ),
      service_waiting_since: [
        orNull.time('waiting_since as the service says it, without documenting when it changes'),
        'm.waiting_since',
      ],
    },
    from: `fct_conversation c
    left join facts_state s on s.project_id = c.project_id
    left join conversations m on m.project_id = c.project_id and m.id = c.conversation_id
    left join visitors v on v.project_id = c.project_id and v.id = c.visitor_id
    and v.deleted_at is null
    where c.is_open`,
  }),
} satisfies Record<string, AnalyticsView>
