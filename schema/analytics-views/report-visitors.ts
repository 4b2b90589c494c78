/** Visitors: what they did on the site, and how they came to write. */
import type { AnalyticsView } from './analytics-view.ts'
import { mergeByKey } from './by-windows.ts'
import {
  count,
  date,
  distinct,
  duration,
  key,
  mean,
  optional,
  projectId,
  seconds,
  text,
  time,
  weighted,
} from './view-columns.ts'

/** Visitors by day: who came to the site and who wrote, new or again. */
const measures = {
  visits: count('visits: runs of activity without a long gap'),
  visitors: distinct('different visitors who made them'),
  new_visitors: count('of these, those whose first visit this was'),
  returning_visitors: distinct('of these, those who had visited before'),
  entries: count('activity entries of the visits'),
  visit_seconds: seconds('total length of the visits'),
  contacting_visitors: distinct('different visitors who began a conversation'),
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

/** The way to the first message: what a visitor did on the site before a conversation began. */
export const reportContact: AnalyticsView = {
  note: 'One row for each conversation, with the visit during which, or 30 minutes after which, it began.',
  caveat:
    'What an activity entry is, the service does not say: pages are shown where `analytics.fields` in deskmirror.yaml names their field. last_page may have been seen after the conversation began.',
  key: ['project_id', 'conversation_id'],
  columns: {
    project_id: projectId,
    conversation_id: key('the conversation'),
    visitor_id: optional(key('the visitor')),
    created_at: optional(time('when the conversation was created')),
    created_date: optional(date('local day of created_at')),
    visit_number: optional({
      ...key("the visit, in fct_visit; null = there was none, or it isn't mirrored"),
      type: 'int32',
    }),
    entries: optional({ ...count('entries of the visit'), type: 'int32' }),
    seconds_before: optional(duration('from the beginning of the visit to the conversation')),
    first_page: optional(text('the page on which the visit began')),
    last_page: optional(text('the last page of the visit')),
  },
  // Visits are more than 30 minutes apart, unless `analytics.visit_gap` is shorter: then the later one counts.
  select: (sql) => `
    select project_id, conversation_id, visitor_id, created_at, created_date, visit_number, entries, seconds_before,
      first_page, last_page
    from (
      select c.project_id, c.conversation_id, c.visitor_id, c.created_at, c.created_date, v.visit_number, v.entries,
        ${sql.epoch('c.created_at')} - ${sql.epoch('v.started_at')} as seconds_before, v.first_page, v.last_page,
        row_number() over (
          partition by c.project_id, c.created_date, c.conversation_id order by v.visit_number desc) as place
      from fct_conversation c
      left join fct_visit v on v.project_id = c.project_id and v.visitor_id = c.visitor_id
        and v.started_at <= c.created_at
        and ${sql.epoch('c.created_at')} - ${sql.epoch('v.ended_at')} <= 1800
    ) visits
    where place = 1`,
}

export const reportContactDay: AnalyticsView = {
  note: 'How many conversations began during or soon after a visit, by the day of their creation.',
  caveat: 'Needs the stream visitor_activity: without it no conversation follows a visit.',
  key: ['project_id', 'date'],
  columns: {
    project_id: projectId,
    date: date('the day of creation'),
    conversations: count('conversations created'),
    after_visit: count('of these, those that began during a visit or at most 30 minutes after it'),
    entries_in_visit: optional(weighted(mean('mean number of entries in these visits'), 'after_visit')),
  },
  // By windows and not by group by: see by-windows.ts.
  select: () => `
    select project_id, date, conversations, after_visit, entries_in_visit
    from (
      select project_id, created_date as date,
        count(*) over (partition by project_id, created_date) as conversations,
        count(visit_number) over (partition by project_id, created_date) as after_visit,
        avg(cast(entries as double precision)) over (partition by project_id, created_date) as entries_in_visit,
        row_number() over (partition by project_id, created_date order by conversation_id) as row_of_day
      from report_contact
      where created_date is not null
    ) contacts
    where row_of_day = 1`,
}
