/** Waits: one by one, by day, and beside the targets of the settings. */

import { columnsFrom, countIf, queryView } from './by-windows.ts'
import { type AnalyticsView, kind, orNull, projectId, weighted } from './view-spec.ts'

/** Waits of conversations of which nothing is missing. `w` is the wait, `c` its conversation. */
export const completeWaits = `fct_wait w
        join fct_conversation c
          on c.project_id = w.project_id and c.conversation_id = w.conversation_id
          and c.is_complete`

export const hours = kind.text(
  'all = all seconds count; business = only those within business hours',
)

/** The outcomes of a judged wait, as conditions on the rows of `judgedWaits`. */
export const targetOutcomes = {
  met: 'waited <= target_seconds',
  missed: 'waited > target_seconds',
  open: "waited is null and ended_by = 'nobody'",
  without: "waited is null and ended_by <> 'nobody'",
}

export const targetColumns = {
  hours: [hours, "max(case when in_business then 'business' else 'all' end)"],
  target_seconds: [
    kind.duration('the answer should have taken this long at most'),
    'max(target_seconds)',
  ],
  waits: [kind.count('waits of complete conversations that the target applies to'), 'count(*)'],
  met: countIf('answered in time', targetOutcomes.met),
  missed: countIf('answered too late', targetOutcomes.missed),
  open: countIf('not answered yet', targetOutcomes.open),
  without: countIf('ended without the answer that the target asks for', targetOutcomes.without),
  met_share: [
    weighted(orNull.share('met / (met + missed); null = nothing was answered'), 'met', 'missed'),
    'cast(count(case when waited <= target_seconds then 1 end) as double precision) / ' +
      'nullif(count(waited), 0)',
  ],
} as const

/**
 * Each wait beside each target that applied to it. `and`: more conditions on waits `w`. SQLite
 * keeps the order of a cross join: it would read all waits once for each target.
 */
export const judgedWaits = (and = '') => `(
      select w.project_id, w.conversation_id, w.started_date as date, t.name, t.target_seconds,
      t.in_business,
        w.ended_by,
        case
          when t.clock = 'any' and t.in_business then w.answer_business_seconds
          when t.clock = 'any' then w.answer_seconds
          when t.in_business then w.human_business_seconds
          else w.human_seconds
        end as waited
      from ${completeWaits}
      cross join dim_sla t
      where t.project_id = w.project_id
        and w.started_date >= t.from_date and (t.to_date is null or w.started_date < t.to_date)
        and (t.which = 'every' or w.wait_number = 1) ${and}
    ) judged`

export const waitViews = {
  /** For questions of one's own, without a join. */
  report_wait: queryView({
    note: 'One row for each time that a visitor began to wait, with its conversation and its day.',
    caveat: 'Includes incomplete conversations: filter by is_complete where durations matter.',
    key: columnsFrom('w', 'fct_wait', 'project_id', 'conversation_id', 'wait_number'),
    columns: {
      ...columnsFrom(
        'c',
        'fct_conversation',
        'visitor_id',
        'origin',
        'assigned_agent_id',
        'opened_by',
        'is_complete',
      ),
      ...columnsFrom('w', 'fct_wait', 'started_at', 'started_date', 'started_hour'),
      ...columnsFrom('d', 'dim_date', 'weekday', 'week', 'month'),
      visitor_messages: [
        { ...kind.count('messages of the visitor in the run'), type: 'int32' },
        'w.messages',
      ],
      ...columnsFrom(
        'w',
        'fct_wait',
        'ended_by',
        'ended_at',
        'ended_by_name',
        'answer_seconds',
        'answer_business_seconds',
        'human_answered_at',
        'human_name',
        'human_seconds',
        'human_business_seconds',
        'ai_answers',
        'after_ai_seconds',
      ),
    },
    from: `fct_wait w
    join fct_conversation c on c.project_id = w.project_id and c.conversation_id = w.conversation_id
    left join dim_date d on d.project_id = w.project_id and d.date = w.started_date`,
  }),
  report_wait_day: queryView({
    note:
      'Waits by the day on which the visitor asked: the sum of those answered by humans, ' +
      'answered by the AI, closed without an answer, and ongoing.',
    caveat:
      'An end may come on a later day. A visitor who writes again after an answer or a ' +
      'handling begins another wait.',
    key: {
      project_id: projectId,
      date: [kind.date('the day on which the visitors asked'), 'started_date'],
    },
    columns: {
      waits: [kind.count('times that a visitor began to wait'), 'count(*)'],
      first_waits: countIf('of these, the first of their conversations', 'wait_number = 1'),
      answered_by_human: countIf('ended by a message of a human', "ended_by = 'human'"),
      answered_by_ai: countIf('ended by a message of the AI', "ended_by = 'ai'"),
      closed_without_answer: countIf(
        'ended when the conversation was handled, without an answer: often a last thank-you',
        "ended_by = 'handled'",
      ),
      ongoing_waits: countIf(
        'not ended yet: also of conversations that are handled, if a message of the ' +
          'visitor did not reopen them',
        "ended_by = 'nobody'",
      ),
      visitor_messages: [
        kind.count('messages of visitors in these waits, which may go on for days'),
        'sum(messages)',
      ],
    },
    from: 'fct_wait group by project_id, started_date',
  }),
  report_sla_day: queryView({
    note:
      'How many waits met each target, by the day on which the visitor asked. waits = met + ' +
      'missed + open + without.',
    caveat:
      'Filter by sla: several targets judge the same waits. A wait is judged by the target ' +
      'that applied when it began, so that changing a target leaves the past as it was. ' +
      'met_share leaves out waits that are open or ended without an answer. On the human ' +
      'clock, each human answer counts once, for the first wait that it ends; waits that ' +
      'the AI answered in between count as without.',
    alternatives: ['sla'],
    key: {
      project_id: projectId,
      date: kind.date('the day on which the visitors asked'),
      sla: [kind.key('name of the target, in dim_sla'), 'name'],
    },
    columns: targetColumns,
    from: `${judgedWaits()}
    group by project_id, date, name`,
  }),
} satisfies Record<string, AnalyticsView>
