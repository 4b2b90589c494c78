/** Visitors by day: who came to the site and who wrote, new or again. */
import type { AnalyticsView } from './analytics-view.ts'
import { mergeByKey } from './merge-by-key.ts'
import { count, date, level, projectId, seconds } from './view-columns.ts'

const measures = {
  visits: count('visits: runs of activity without a long gap'),
  visitors: level('different visitors who made them; must not be added up over days'),
  new_visitors: count('of these, those whose first visit this was'),
  returning_visitors: level('of these, those who had visited before'),
  entries: count('activity entries of the visits'),
  visit_seconds: seconds('total length of the visits'),
  contacting_visitors: level('different visitors who began a conversation; must not be added up over days'),
  first_contacts: count('of these, those whose first conversation it was'),
}

export const reportVisitorDay: AnalyticsView = {
  note: 'Visits by the day on which they began, and visitors who began conversations on that day.',
  caveat: 'New means new to the mirror: a visitor whose earlier activity the service no longer shows counts as new.',
  key: ['project_id', 'date'],
  columns: { project_id: projectId, date: date('the local day'), ...measures },
  select: () =>
    mergeByKey({
      key: ['project_id', 'date'],
      columns: measures,
      sources: [
        {
          key: ['project_id', 'started_date'],
          columns: {
            visits: 'count(*)',
            visitors: 'count(distinct visitor_id)',
            new_visitors: 'count(case when visit_number = 1 then 1 end)',
            returning_visitors: 'count(distinct visitor_id) - count(case when visit_number = 1 then 1 end)',
            entries: 'sum(entries)',
            visit_seconds: 'sum(seconds)',
          },
          from: 'fct_visit group by project_id, started_date',
        },
        {
          key: ['project_id', 'created_date'],
          columns: {
            contacting_visitors: 'count(distinct visitor_id)',
            first_contacts: 'count(case when contact_number = 1 then 1 end)',
          },
          from: `(
          select project_id, visitor_id, created_date,
            row_number() over (partition by project_id, visitor_id order by created_at, conversation_id)
              as contact_number
          from fct_conversation
          where visitor_id is not null and created_date is not null
        ) contacts
        group by project_id, created_date`,
        },
      ],
    }),
}
