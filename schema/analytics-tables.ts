/**
 * Facts derived from the mirror, and how far they are derived. Dates and hours are in the project's
 * time zone, times in UTC, durations in whole seconds.
 */
import { analyticsReferenceTables } from './analytics-reference-tables.ts'
import { type AnalyticsTableSpec, projectColumns } from './column-types.ts'
import { likelyCallFields } from './mirror-tables.ts'

const conversationColumns = {
  ...projectColumns,
  conversation_id: ['key', 'the conversation, in conversations'],
} as const

const orTried = (field: keyof typeof likelyCallFields): string =>
  `; null = the first of ${likelyCallFields[field].join(', ')} that a call has`

export const analyticsTables = {
  fct_conversation: {
    note:
      'One row for each conversation that exists, with its counts, its ' +
      'first answers and its handling.',
    key: ['project_id', 'conversation_id'],
    columns: {
      ...conversationColumns,
      visitor_id: ['text?', 'the visitor, in visitors'],
      origin: ['text?', 'how it started: visitor_initiated or another value'],
      assigned_agent_id: ['text?', 'the agent to whom it is assigned now'],
      created_at: ['utc_time?', 'when it was created'],
      created_date: ['local_date?', 'local day of created_at'],
      created_hour: ['int32?', 'local hour of created_at, 0 to 23', 'dimension'],
      is_complete: [
        'boolean',
        'all messages are known, all have a time, and all utterances a sender with a known role',
      ],
      is_open: ['boolean', 'it is not handled'],
      opened_by: ['text?', 'who wrote first: visitor, human or ai; null = nobody so far'],
      answered_by: ['text', 'who of us wrote in it: nobody, human, ai, or human and ai'],
      messages: ['int32', 'messages and system events; the sum of the next five', 'sum'],
      visitor_messages: ['int32', 'utterances of the visitor', 'sum'],
      human_messages: ['int32', 'utterances of humans of the team', 'sum'],
      ai_messages: ['int32', 'utterances of the AI', 'sum'],
      other_messages: ['int32', 'utterances of senders whose role is unknown', 'sum'],
      system_events: ['int32', 'messages that are not utterances', 'sum'],
      waits: ['int32', 'how often the visitor began to wait, in fct_wait', 'sum'],
      human_turns: ['int32', 'runs of human utterances', 'sum'],
      first_visitor_at: ['utc_time?', 'when the visitor first wrote'],
      last_visitor_at: ['utc_time?', 'when the visitor last wrote'],
      first_answer_seconds: [
        'integer?',
        'how long the first wait took that a human or the AI answered: from a later ' +
          'question if the first was handled without an answer',
        'sum',
      ],
      first_answer_business_seconds: ['integer?', 'the same within business hours', 'sum'],
      first_human_at: ['utc_time?', 'when a human first answered the visitor'],
      first_human_date: ['local_date?', 'local day of first_human_at'],
      first_human_week: ['local_date?', 'Monday of its week'],
      first_human_month: ['local_date?', 'first day of its month'],
      first_human_name: ['text?', 'the name on that answer; empty = it shows none'],
      first_human_seconds: [
        'integer?',
        'how long the visitor had waited for it, however often the AI answered before; ' +
          'begins anew after a handling',
        'sum',
      ],
      first_human_business_seconds: ['integer?', 'the same within business hours', 'sum'],
      human_names: ['int32', 'different names on human utterances', 'distinct'],
      human_span_seconds: [
        'integer?',
        'from the first to the last human utterance, pauses included: the nearest to a ' +
          'handle time that the data allow',
        'sum',
      ],
      last_human_name: ['text?', 'the name on the last human utterance'],
      last_utterance_at: ['utc_time?', 'when a visitor, human or the AI last wrote'],
      last_utterance_by: ['text?', 'who that was: visitor, human or ai'],
      longest_wait_seconds: ['integer?', 'longest wait that a human or the AI ended', 'none'],
      total_wait_seconds: ['integer?', 'sum of those waits', 'sum'],
      total_human_wait_seconds: ['integer?', 'sum of the waits for humans', 'sum'],
      waiting_since: [
        'utc_time?',
        'since when the visitor of an open conversation waits; null = the visitor does not',
      ],
      handled_at: ['utc_time?', 'when it was marked handled; null = it is open'],
      handled_date: ['local_date?', 'local day of handled_at'],
      handled_seconds: ['integer?', 'from created_at to handled_at', 'sum'],
      handled_business_seconds: ['integer?', 'the same within business hours', 'sum'],
      first_handled_at: ['utc_time?', 'the earliest handling that is known'],
      first_handled_seconds: ['integer?', 'from created_at to first_handled_at', 'sum'],
      reopens_seen: [
        'int32',
        'reopenings since history_from; a handling of a conversation that is handled ' +
          'already is none, unless someone wrote before it',
        'sum',
      ],
      history_from: [
        'utc_time',
        'since when changes of it were watched: its creation, or the start of the mirror',
      ],
      history_complete: ['boolean', 'it was watched from its creation on'],
      is_one_touch: [
        'boolean',
        'handled after one run of human utterances, with no reopening seen',
      ],
    },
  },
  fct_wait: {
    note:
      'One row for each time that a visitor began to wait: a run of messages of the visitor ' +
      'with neither an answer nor a handling between.',
    key: ['project_id', 'conversation_id', 'wait_number'],
    postgresIndex: ['project_id', 'conversation_id'],
    columns: {
      ...conversationColumns,
      wait_number: ['int32', '1 = the first of the conversation', 'dimension'],
      started_at: ['utc_time', "when the run's first message was written"],
      started_date: ['local_date', 'local day of started_at'],
      started_hour: ['int32', 'local hour of started_at, 0 to 23', 'dimension'],
      open_from_date: [
        'local_date?',
        'local day from which the conversation was open while the visitor waited: mostly ' +
          'started_date; null = it was handled all the time',
      ],
      open_from_hour: ['int32?', 'and the local hour, 0 to 23', 'dimension'],
      messages: ['int32', 'messages of the run', 'sum'],
      ended_by: [
        'text',
        'what came first: human or ai = a message of theirs; handled = a handling at the ' +
          'time of the last message of the run or later; nobody = it goes on. Within one ' +
          'second, messages come before a handling, and a lower id before a higher one',
      ],
      ended_at: ['utc_time?', 'when; null = nobody has ended it'],
      ended_date: ['local_date?', 'local day of ended_at'],
      ended_hour: ['int32?', 'local hour of ended_at, 0 to 23', 'dimension'],
      ended_by_name: ['text?', 'the name on the answer; empty = it shows none'],
      answer_seconds: [
        'integer?',
        'from started_at to the answer of a human or the AI; null = there is none',
        'sum',
      ],
      answer_business_seconds: ['integer?', 'the same within business hours', 'sum'],
      human_answered_at: [
        'utc_time?',
        'the next human answer before a handling; only in the first wait since the human ' +
          'or handling before, so each human answer is in one row',
      ],
      human_answered_date: ['local_date?', 'local day of human_answered_at'],
      human_answered_hour: ['int32?', 'local hour of human_answered_at, 0 to 23', 'dimension'],
      human_name: ['text?', 'the name on the human answer; empty = it shows none'],
      human_seconds: [
        'integer?',
        'from started_at to human_answered_at; null where no human answered, also if the AI did',
        'sum',
      ],
      human_business_seconds: ['integer?', 'the same within business hours', 'sum'],
      ai_answers: [
        'int32?',
        'runs of the AI that answered the visitor before the human did',
        'sum',
      ],
      after_ai_seconds: [
        'integer?',
        "wait for the human after the AI: from the visitor's run that the human answered, " +
          "or from the AI's last message if the AI wrote last; null = no AI",
        'sum',
      ],
      after_ai_business_seconds: ['integer?', 'the same within business hours', 'sum'],
    },
  },
  fct_state: {
    note:
      'The spans in which a conversation was open or handled, as far as syncs saw it: see ' +
      'began_by. A handling of a conversation that was handled already begins none.',
    key: ['project_id', 'conversation_id', 'state_number'],
    postgresIndex: ['project_id', 'conversation_id'],
    columns: {
      ...conversationColumns,
      state_number: ['int32', '1 = the first; odd = open, even = handled', 'dimension'],
      state: ['text', 'open or handled'],
      from_at: ['utc_time', 'when it began'],
      from_date: ['local_date', 'local day of from_at'],
      from_hour: ['int32', 'local hour of from_at, 0 to 23', 'dimension'],
      began_by: [
        'text',
        'how exact from_at is: created or service = exact; message = a reopening, dated by the ' +
          'first utterance after the last one that the service named when it was last seen ' +
          'handled, up to and with the one that it named when it was first seen open or handled ' +
          'again; seen = no more is known than that from_at is the first reading that saw it',
      ],
      to_at: ['utc_time?', 'when it ended; null = it is the present state'],
      to_date: ['local_date?', 'local day of to_at'],
      seconds: ['integer?', 'from from_at to to_at', 'sum'],
      business_seconds: ['integer?', 'the same within business hours', 'sum'],
    },
  },
  fct_assignment: {
    note:
      'The spans in which a conversation was assigned to an agent, as far as syncs saw it. One ' +
      'that came and went between two readings is not here.',
    key: ['project_id', 'conversation_id', 'assignment_number'],
    postgresIndex: ['project_id', 'conversation_id'],
    columns: {
      ...conversationColumns,
      assignment_number: ['int32', '1 = the first that was seen', 'dimension'],
      assigned_agent_id: ['text', 'the agent'],
      not_before_at: [
        'utc_time?',
        'it began after this time: the last reading that showed another agent, or none; of ' +
          'the first, the creation (null = not known)',
      ],
      from_at: [
        'utc_time',
        'it had begun by this time: the first reading that showed it; of the first, the ' +
          'creation, or the start of the mirror if that is later',
      ],
      from_date: ['local_date', 'local day of from_at'],
      last_seen_at: [
        'utc_time?',
        'the last reading that showed it, so it ended between this time and to_at; null = it ' +
          'is the present one',
      ],
      to_at: [
        'utc_time?',
        'the first reading that showed another agent, or none; null = it is the present one',
      ],
      to_date: ['local_date?', 'local day of to_at'],
      seconds: ['integer?', 'from from_at to to_at', 'sum'],
    },
  },
  fct_contribution: {
    note: 'Who wrote how much in a conversation on a day.',
    key: ['project_id', 'conversation_id', 'date', 'role', 'name'],
    postgresIndex: ['project_id', 'conversation_id'],
    columns: {
      ...conversationColumns,
      date: ['local_date', 'the local day'],
      role: ['key', 'visitor, human, ai, other (unknown role) or event (not an utterance)'],
      name: ['key', 'the name on the messages of human and ai; else empty'],
      messages: ['int32', 'how many messages', 'sum'],
      first_at: ['utc_time', 'when the first of them was written'],
    },
  },
  fct_visit: {
    note:
      'Visits: runs of activity of a visitor without a long gap ' +
      '(`analytics.visit_gap`, 30 minutes).',
    key: ['project_id', 'visitor_id', 'visit_number'],
    postgresIndex: ['project_id', 'visitor_id'],
    columns: {
      ...projectColumns,
      visitor_id: ['key', 'the visitor, in visitors'],
      visit_number: ['int32', "1 = the visitor's first", 'dimension'],
      started_at: ['utc_time', 'its first entry'],
      started_date: ['local_date', 'local day of started_at'],
      ended_at: ['utc_time', 'its last entry'],
      entries: ['int32', 'entries of visitor_activity', 'sum'],
      seconds: ['integer', 'from started_at to ended_at', 'sum'],
      first_page: ['text?', 'the page of its first entry that names one; null = none does'],
      last_page: ['text?', 'the page of its last entry that names one'],
    },
  },
  fct_availability_hour: {
    note: 'How available agents were in each hour that was observed. Begins with the mirror.',
    key: ['project_id', 'date', 'hour'],
    columns: {
      ...projectColumns,
      date: ['local_date', 'the local day'],
      hour: [
        'int32',
        'the local hour, 0 to 23; an hour that the clock shows twice is one row',
        'dimension',
      ],
      snapshots: ['int32', 'how often the service was asked in this hour', 'sum'],
      observed_seconds: [
        'integer',
        'seconds for which a snapshot holds: until the next one, for ' +
          '`analytics.availability_holds` (10 minutes) at most. The newest holds for none yet, ' +
          'as does one that lacks the number of agents',
        'sum',
      ],
      available_seconds: ['integer', 'of these, seconds in which an agent was available', 'sum'],
      agent_seconds: ['integer', 'sum of seconds times agents online', 'sum'],
      agents_min: ['int32?', 'fewest agents online', 'none'],
      agents_max: ['int32?', 'most agents online', 'none'],
    },
  },
  ...analyticsReferenceTables,
  facts_due: {
    note: 'Facts that are to be refreshed because rows of the mirror changed.',
    key: ['project_id', 'kind', 'id'],
    columns: {
      ...projectColumns,
      kind: ['key', 'conversation, visitor or availability_hour'],
      id: ['key', 'the conversation, the visitor, or the first second of the hour in UTC'],
    },
  },
  facts_state: {
    note:
      'From what the facts were derived. If the settings or the version of deskmirror ' +
      'differ, they are rebuilt.',
    key: ['project_id'],
    columns: {
      ...projectColumns,
      mirrored_since: [
        'utc_time',
        'when the first sync run started; changes of earlier times were not watched',
      ],
      version: ['int32', 'how facts are derived; grows with the definitions', 'dimension'],
      fingerprint: ['text', 'hash of the settings; empty = no facts yet'],
      time_zone: ['text', 'the time zone of all dates and hours'],
      rebuilt_to: [
        'text?',
        'how far a rebuild has come: the kind and the id of what it rebuilt last, empty at ' +
          'its start; null = no rebuild is under way',
      ],
      personal_data: [
        'boolean',
        'false = names, addresses, pages of visits and undocumented fields are left out',
      ],
    },
  },
  call_fields: {
    note:
      'Where calls hold what the views show of them: dotted paths within raw, from ' +
      '`analytics.calls` in deskmirror.yaml.',
    key: ['project_id'],
    columns: {
      ...projectColumns,
      visitor: ['text?', `id of the visitor${orTried('visitor')}`],
      ended: ['text?', `when the call ended${orTried('ended')}`],
      outcome: ['text?', `how it ended${orTried('outcome')}`],
      duration: ['text?', `how long it took, in seconds${orTried('duration')}`],
      direction: ['text?', `who called whom${orTried('direction')}`],
      agent: ['text?', `the agent, by an id or a name${orTried('agent')}`],
    },
  },
  _metabase_metadata: {
    note: 'Descriptions of all objects for analysts, which Metabase reads when it syncs the database.',
    key: ['keypath'],
    notMoved: 'written when a database is migrated',
    columns: {
      keypath: ['key', 'table.property or table.column.property'],
      value: ['text', 'its value'],
    },
  },
} as const satisfies Record<string, AnalyticsTableSpec>
