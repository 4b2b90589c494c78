/** The way to the first message: what a visitor did on the site before a conversation began. */
import type { AnalyticsView } from './analytics-view.ts'
import { count, date, duration, key, mean, optional, projectId, text, time } from './view-columns.ts'

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
    entries_in_visit: optional(mean('mean number of entries in these visits')),
  },
  // By windows and not by group by: see percentiles.ts.
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
