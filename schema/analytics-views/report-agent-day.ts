/** What each agent did on each day, by the name on the messages. */
import type { AnalyticsView } from './analytics-view.ts'
import { completeWaits } from './complete-waits.ts'
import { mergeByKey } from './merge-by-key.ts'
import { percentilesOf } from './percentiles.ts'
import { count, date, duration, key, meanSeconds, optional, projectId } from './view-columns.ts'

const measures = {
  messages: count('messages'),
  conversations: count('conversations that the agent wrote in on this day'),
  answers: count('messages that answered a waiting visitor, in complete conversations'),
  answer_median_seconds: optional(meanSeconds('median of how long these visitors had waited for a human')),
  answer_p90_seconds: optional(duration('nine tenths of them had waited this long at most')),
}

export const reportAgentDay: AnalyticsView = {
  note: 'Messages and answers of each agent by the day on which they were written.',
  caveat:
    'Agents are names that visitors saw: two people may share one, and one may change it. The assigned agent plays no part. A conversation that two agents wrote in counts for both, so do not add conversations up.',
  key: ['project_id', 'date', 'agent_name'],
  columns: {
    project_id: projectId,
    date: date('the day on which the messages were written'),
    agent_name: key('the name on the messages; empty = they show none'),
    ...measures,
  },
  select: () =>
    mergeByKey({
      key: ['project_id', 'date', 'agent_name'],
      columns: measures,
      sources: [
        {
          key: ['project_id', 'date', 'name'],
          columns: { messages: 'sum(messages)', conversations: 'count(*)' },
          from: "fct_contribution where role = 'human' group by project_id, date, name",
        },
        {
          key: ['project_id', 'date', 'name'],
          columns: {
            answers: 'values_counted',
            answer_median_seconds: 'median_value',
            answer_p90_seconds: 'p90_value',
          },
          from: `(${percentilesOf({
            groups: { project_id: 'w.project_id', date: 'w.human_answered_date', name: 'w.human_name' },
            value: 'w.human_seconds',
            from: `${completeWaits}
        where w.human_seconds is not null`,
          })}) answers`,
        },
      ],
    }),
}
