/** Visitors: what they did on the site, and how they came to write. */

import { columnsByDay, countIf, mergedView, queryView } from './by-windows.ts'
import { type AnalyticsView, kind, orNull, projectId, weighted } from './view-spec.ts'

const contacts = `(
          select project_id, visitor_id, created_date,
            row_number() over (partition by project_id, visitor_id
            order by created_at, conversation_id)
              as contact_number
          from fct_conversation
          where visitor_id is not null and created_date is not null
        ) contacts`

export const visitorViews = {
  report_visitor_day: mergedView({
    note: 'Visits by the day on which they began, and visitors who began conversations on that day.',
    caveat:
      'New means new to the mirror: a visitor whose earlier activity the service no longer ' +
      'shows counts as new.',
    key: { project_id: projectId, date: kind.date('the local day') },
    sources: [
      columnsByDay('fct_visit', 'started_date', {
        visits: [kind.count('visits: runs of activity without a long gap'), 'count(*)'],
        visitors: [kind.distinct('different visitors who made them'), 'count(distinct visitor_id)'],
        new_visitors: countIf('of these, those whose first visit this was', 'visit_number = 1'),
        returning_visitors: [
          kind.distinct('of these, those who had visited before'),
          'count(distinct visitor_id) - count(case when visit_number = 1 then 1 end)',
        ],
        entries: [kind.count('activity entries of the visits'), 'sum(entries)'],
        visit_seconds: [kind.seconds('total length of the visits'), 'sum(seconds)'],
      }),
      columnsByDay(contacts, 'created_date', {
        contacting_visitors: [
          kind.distinct('different visitors who began a conversation'),
          'count(distinct visitor_id)',
        ],
        first_contacts: countIf(
          'of these, those whose first conversation it was',
          'contact_number = 1',
        ),
      }),
    ],
  }),
  /** The way to the first message: what a visitor did on the site before a conversation began. */
  report_contact: queryView({
    note:
      'One row for each conversation, with the visit during which, or 30 ' +
      'minutes after which, it began.',
    caveat:
      'What an activity entry is, the service does not say: pages are shown where ' +
      '`analytics.fields` in deskmirror.yaml names their field. last_page may have been ' +
      'seen after the conversation began.',
    key: { project_id: projectId, conversation_id: kind.key('the conversation') },
    columns: {
      visitor_id: orNull.key('the visitor'),
      created_at: orNull.time('when the conversation was created'),
      created_date: orNull.date('local day of created_at'),
      visit_number: {
        ...orNull.key("the visit, in fct_visit; null = there was none, or it isn't mirrored"),
        type: 'int32',
      },
      entries: { ...orNull.count('entries of the visit'), type: 'int32' },
      seconds_before: orNull.duration('from the beginning of the visit to the conversation'),
      first_page: orNull.text('the page on which the visit began'),
      last_page: orNull.text('the last page of the visit'),
    },
    // Visits are over 30 minutes apart, unless `analytics.visit_gap` is shorter: the later counts.
    from: (sql) => `(
      select c.project_id, c.conversation_id, c.visitor_id, c.created_at, c.created_date,
      v.visit_number, v.entries,
        ${sql.epoch('c.created_at')} - ${sql.epoch('v.started_at')}
        as seconds_before, v.first_page, v.last_page,
        row_number() over (
          partition by c.project_id, c.created_date, c.conversation_id order by v.visit_number desc)
          as place
      from fct_conversation c
      left join fct_visit v on v.project_id = c.project_id and v.visitor_id = c.visitor_id
        and v.started_at <= c.created_at
        and ${sql.epoch('c.created_at')} - ${sql.epoch('v.ended_at')} <= 1800
    ) visits
    where place = 1`,
  }),
  report_contact_day: queryView({
    note: 'How many conversations began during or soon after a visit, by the day of their creation.',
    caveat: 'Needs the stream visitor_activity: without it no conversation follows a visit.',
    key: { project_id: projectId, date: kind.date('the day of creation') },
    columns: {
      conversations: kind.count('conversations created'),
      after_visit: kind.count(
        'of these, those that began during a visit or at most 30 minutes after it',
      ),
      entries_in_visit: weighted(
        orNull.mean('mean number of entries in these visits'),
        'after_visit',
      ),
    },
    // By windows and not by group by: see by-windows.ts.
    from: `(
      select project_id, created_date as date,
        count(*) over (partition by project_id, created_date) as conversations,
        count(visit_number) over (partition by project_id, created_date) as after_visit,
        avg(cast(entries as double precision)) over (partition by project_id, created_date)
        as entries_in_visit,
        row_number() over (partition by project_id, created_date order by conversation_id)
        as row_of_day
      from report_contact
      where created_date is not null
    ) contacts
    where row_of_day = 1`,
  }),
} satisfies Record<string, AnalyticsView>
