/** The work of humans: of each agent, and of all by day. */

import {
  columnsByDay,
  countIf,
  type MergedSource,
  median,
  mergeByKey,
  mergedColumns,
  mergedView,
  p90,
  percentileSource,
  percentilesByDay,
  queryView,
  valuesCounted,
} from './by-windows.ts'
import { observedSecondsOfHour } from './hours.ts'
import { type AnalyticsView, kind, orNull, projectId, weighted } from './view-spec.ts'
import { completeWaits } from './waits.ts'

const agentColumns = {
  written: {
    messages: [kind.count('messages'), 'sum(w.messages)'],
    conversations: [
      kind.distinct('conversations that the agent wrote in'),
      'count(distinct w.conversation_id)',
    ],
  },
  answered: {
    answers: [
      kind.count(
        'all messages that answered a waiting visitor, in complete conversations; first answers ' +
          'are in report_agent_first_answer_week',
      ),
      'values_counted',
    ],
    answer_median_seconds: median('median of how long these visitors had waited for a human'),
    answer_p90_seconds: p90('nine tenths of them had waited this long at most'),
  },
} as const

/** What agents wrote, and what they answered. `and`: more conditions. */
export function agentSources(
  written: {
    readonly keys: Readonly<Record<string, string>>
    readonly join?: string
    readonly and?: string
  },
  answered: typeof written,
): MergedSource[] {
  const key = ['w.project_id', ...Object.values(written.keys)]
  return [
    {
      key,
      columns: agentColumns.written,
      from: `fct_contribution w ${written.join ?? ''}
        where w.role = 'human' ${written.and ?? ''}
        group by ${key.join(', ')}`,
    },
    percentileSource({
      groups: { project_id: 'w.project_id', ...answered.keys },
      value: 'w.human_seconds',
      columns: agentColumns.answered,
      from: `${completeWaits} ${answered.join ?? ''}
        where w.human_seconds is not null ${answered.and ?? ''}`,
    }),
  ]
}

/** By the name on the messages. `column`: of dim_date. */
function agentsBy(period: 'day' | 'month', column: 'date' | 'month'): AnalyticsView {
  const join = (date: string) =>
    column === 'date' ? '' : `join dim_date d on d.project_id = w.project_id and d.date = ${date}`
  const [written, answered] =
    column === 'date' ? ['w.date', 'w.human_answered_date'] : ['d.month', 'd.month']
  return mergedView({
    note: `Messages and answers of each agent by the ${period} of the messages.`,
    caveat:
      'Agents are names that visitors saw: two people may share one, and one may change it. The ' +
      'assigned agent plays no part. A conversation that two agents wrote in counts for both.',
    key: {
      project_id: projectId,
      [column]: kind.date(
        `${period === 'day' ? 'the day' : 'first day of the month'} of the messages`,
      ),
      agent_name: kind.key('the name on the messages; empty = they show none'),
    },
    sources: agentSources(
      { keys: { [column]: written, name: 'w.name' }, join: join('w.date') },
      { keys: { [column]: answered, name: 'w.human_name' }, join: join('w.human_answered_date') },
    ),
  })
}

/** Substitutes for handle time and occupancy, which cannot be computed: named as what they are. */
const shown: readonly MergedSource[] = [
  columnsByDay('fct_conversation', 'handled_date', {
    last_handled_conversations: [
      kind.count('conversations whose last handling was on this day'),
      'count(*)',
    ],
    last_handled_with_human: countIf(
      'of these, those in which a human wrote',
      'human_messages > 0',
    ),
    human_turns: [kind.count('runs of human messages in these'), 'sum(human_turns)'],
    human_messages: [kind.count('human messages in these'), 'sum(human_messages)'],
  }),
  percentilesByDay('fct_conversation', 'handled_date', 'human_span_seconds', {
    human_span_median_seconds: median(
      'median of the span from the first to the last human message',
    ),
    human_span_p90_seconds: p90('nine tenths of these spans are this long at most'),
  }),
  columnsByDay('fct_wait', 'human_answered_date', {
    human_answers: [kind.count('answers of humans given on this day'), 'count(*)'],
  }),
  columnsByDay('fct_availability_hour', 'date', {
    agent_seconds: [
      kind.seconds('seconds times agents online; only while the availability was observed'),
      'sum(agent_seconds)',
    ],
  }),
]

/** Only of hours with an agent online: nobody was seen who could have given another answer. */
const observed: readonly MergedSource[] = [
  {
    key: ['w.project_id', 'w.human_answered_date'],
    columns: { observed_answers: [kind.count(''), 'count(*)'] },
    // SQLite keeps the order of a cross join, or it would read all waits for each hour.
    from: `fct_wait w
        cross join fct_availability_hour a
        where a.project_id = w.project_id and a.date = w.human_answered_date
        and a.hour = w.human_answered_hour
          and w.human_answered_date is not null and a.agent_seconds > 0
        group by w.project_id, w.human_answered_date`,
  },
  columnsByDay('fct_availability_hour', 'date', {
    agent_hours: [
      orNull.mean(''),
      `sum(cast(agent_seconds as double precision) / ${observedSecondsOfHour})`,
    ],
  }),
]

const perConversation = (what: string) =>
  [
    weighted(orNull.mean(`${what} / last_handled_with_human`), 'last_handled_with_human'),
    `cast(${what} as double precision) / nullif(last_handled_with_human, 0)`,
  ] as const

const agentName = kind.key('the name on the answers; empty = they show none')

export const agentViews = {
  report_agent_day: agentsBy('day', 'date'),
  report_agent_month: agentsBy('month', 'month'),
  report_agent_first_answer_week: mergedView({
    note: 'The first human answers to conversations, by the agent and the week of the answer.',
    caveat: 'Only complete conversations count. Agents are names that visitors saw.',
    key: { project_id: projectId, week: kind.date('Monday of the week'), agent_name: agentName },
    sources: [
      percentileSource({
        groups: {
          project_id: 'project_id',
          week: 'first_human_week',
          agent_name: 'first_human_name',
        },
        value: 'first_human_seconds',
        columns: {
          first_answers: valuesCounted('conversations to which the agent gave this answer'),
          median_seconds: median('median of how long these visitors had waited for a human'),
          p90_seconds: p90('nine tenths of them had waited this long at most'),
        },
        from: 'fct_conversation where is_complete and first_human_seconds is not null',
      }),
    ],
  }),
  report_agent_month_hour: mergedView({
    note: 'The answers of each agent, by the month and the hour of the day.',
    caveat:
      'Only answers to waiting visitors in complete conversations: all of them, not only ' +
      'first ones. Agents are names that visitors saw.',
    key: {
      project_id: projectId,
      month: kind.date('first day of the month'),
      hour: { ...kind.key('the local hour of the answer, 0 to 23'), type: 'int32' },
      agent_name: agentName,
    },
    sources: [
      percentileSource({
        groups: {
          project_id: 'w.project_id',
          month: 'd.month',
          hour: 'w.human_answered_hour',
          agent_name: 'w.human_name',
        },
        value: 'w.human_seconds',
        columns: agentColumns.answered,
        from: `${completeWaits}
        join dim_date d on d.project_id = w.project_id and d.date = w.human_answered_date
        where w.human_seconds is not null`,
      }),
    ],
  }),
  report_workload_day: queryView({
    note:
      'How much human work the conversations took that were handled on each day, and how ' +
      'many answers online agents gave.',
    caveat:
      'Not handle time and not occupancy: the service shows no drafts, no focus and no states of ' +
      'agents. A span from the first to the last human message includes all pauses.',
    key: { project_id: projectId, date: kind.date('the local day') },
    columns: {
      ...mergedColumns(shown),
      human_turns_per_conversation: perConversation('human_turns'),
      human_messages_per_conversation: perConversation('human_messages'),
      human_answers_per_agent_hour: [
        orNull.mean(
          'human answers for each hour of an online agent, in the hours in which at least one ' +
            'was seen online for a second; null = none was',
        ),
        'observed_answers / nullif(agent_hours, 0)',
      ],
    },
    from: `(${mergeByKey(['project_id', 'date'], [...shown, ...observed])}) w`,
  }),
} satisfies Record<string, AnalyticsView>
