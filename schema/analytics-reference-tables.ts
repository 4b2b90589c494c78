/** What facts refer to: the calendar, roles and targets of a project's settings. */
import { type AnalyticsTableSpec, projectColumns } from './column-types.ts'

export const analyticsReferenceTables = {
  dim_sender_type: {
    note:
      'Which role each sender type has. A guess by its name, unless `analytics.roles` in ' +
      'deskmirror.yaml says it.',
    key: ['project_id', 'sender_type'],
    columns: {
      ...projectColumns,
      sender_type: ['key', 'sender_type of messages'],
      role: [
        'text',
        'visitor, human or ai; other = its role is unknown, so its ' +
          'conversations count as incomplete',
      ],
    },
  },
  zone_offsets: {
    note: "The offsets of the project's time zone from UTC. Each holds until the next one.",
    key: ['project_id', 'from_s'],
    columns: {
      ...projectColumns,
      from_s: ['integer', 'since when, in seconds since 1970', 'dimension'],
      offset_s: ['int32', 'seconds east of UTC', 'none'],
    },
  },
  business_spans: {
    note:
      'When business is open: hours, holidays and time zone of the project as spans in UTC. ' +
      'Spans that touch are one.',
    key: ['project_id', 'opens_s'],
    columns: {
      ...projectColumns,
      opens_s: ['integer', 'in seconds since 1970', 'dimension'],
      closes_s: ['integer', 'in seconds since 1970', 'none'],
      seconds_before: [
        'integer',
        'open seconds before this span: business time between two moments is the ' +
          'difference of two such sums',
        'none',
      ],
    },
  },
  dim_date: {
    note: "The days of the project's time zone.",
    key: ['project_id', 'date'],
    columns: {
      ...projectColumns,
      date: ['local_date', 'the local day'],
      starts_at: ['utc_time', 'its first second'],
      ends_at: ['utc_time', 'the first second of the next day, 23 to 25 hours later'],
      weekday: ['int32', '1 = Monday to 7 = Sunday', 'dimension'],
      week: ['local_date', 'Monday of its week'],
      month: ['local_date', 'first day of its month'],
      quarter: ['local_date', 'first day of its quarter'],
      year: ['int32', 'year', 'dimension'],
      iso_week: ['text', 'its week by ISO 8601, such as 2025-W07'],
      is_weekend: ['boolean', 'Saturday or Sunday'],
      is_holiday: ['boolean', 'the settings give this day hours of its own'],
      business_seconds: ['int32', 'open seconds of the day', 'sum'],
    },
  },
  dim_sla: {
    note:
      'Targets for answers. Each applies to waits that began on the days ' +
      'from from_date to to_date.',
    key: ['project_id', 'name', 'from_date'],
    columns: {
      ...projectColumns,
      name: ['key', 'name of the target'],
      clock: ['text', 'any = until anybody answers, AI included; human = until a human answers'],
      which: [
        'text',
        "first = a conversation's first wait, and no later one if that is handled without " +
          'an answer; every = each wait',
      ],
      target_seconds: ['integer', 'the answer should take this long at most', 'none'],
      in_business: ['boolean', 'only business hours count'],
      from_date: ['local_date', 'the first day; 1970-01-01 = from the beginning'],
      to_date: ['local_date?', 'the day on which it no longer applied; null = it still applies'],
    },
  },
} as const satisfies Record<string, AnalyticsTableSpec>
