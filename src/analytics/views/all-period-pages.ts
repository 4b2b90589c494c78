/** The tables of the pages about a period. Columns are those of a view; numbers are exact. */
import { agentSources, agentViews } from './agents.ts'
import { columnList, mergeByKey } from './by-windows.ts'
import { callSources, callViews } from './calls.ts'
import { aiColumns, conversationViews } from './conversations.ts'
import { dayViews } from './days.ts'
import { eventsByHour, hourViews } from './hours.ts'
import { type PeriodTable, type Within, where } from './period-table.ts'
import { judgedWaits, targetColumns, targetOutcomes, waitViews } from './waits.ts'

const createdWithin = (within: Within) => {
  const wrote =
    within.agent === null
      ? ''
      : ` and exists (select 1 from fct_contribution p where p.project_id = c.project_id
        and p.conversation_id = c.conversation_id and p.role = 'human'
        and p.name = ${within.agent})`
  return `fct_conversation c where ${where(within, 'c.', 'created_date', null)}${wrote}`
}

const agentRows = (within: Within, isByName: boolean) => {
  const keys = (name: string) => (isByName ? { agent_name: name } : {})
  const rows = (date: string, name: string) => ({
    keys: keys(`w.${name}`),
    and: `and ${where(within, 'w.', date, name)}`,
  })
  return mergeByKey(
    ['project_id', ...Object.keys(keys(''))],
    agentSources(rows('date', 'name'), rows('human_answered_date', 'human_name')),
  )
}

const callRows = (within: Within, keys: Record<string, string>) => {
  const sources = callSources(keys, `and ${where(within, '', 'started_date', 'agent')}`)
  return mergeByKey(['project_id', ...Object.keys(keys)], sources)
}

/** What had begun and not ended at the end of the last day. */
const atEnd = ({ project, to }: Within, begins: string, ends: string) =>
  `project_id = ${project} and ${begins} <= ${to} and (${ends} is null or ${ends} > ${to})`

const dayRows = (within: Within) =>
  `select * from report_day where ${where(within, '', 'date', null)}`

export const periodTables = {
  charts: {
    title: 'Charts',
    view: dayViews.report_day,
    about:
      'Each number counts by its own date: waits and response times by when the visitor ' +
      'asked, so a late answer still changes the median of a past day. Response times leave ' +
      'out conversations of which not all is known.',
    ofAgent: null,
    empty: 'Nothing is known of this period: the numbers follow the first sync.',
    columns: {
      date: 'Day',
      started: 'Conversations',
      visitor_messages: 'Messages of visitors',
      waits: 'Waits',
      answered_by_human: 'Answered by\u00a0a\u00a0human',
      answered_by_ai: 'By the\u00a0AI',
      human_answer_median_seconds: 'Median until a human',
      human_answer_p90_seconds: '90 % within',
      handlings: 'Handled',
      open_at_end: 'Open',
      waiting_at_end: 'Waiting',
      calls: 'Calls',
    },
    key: ['date'],
    sort: '-date',
    rows: dayRows,
    charts: [
      { title: 'Messages of visitors', unit: 'messages', series: { visitor_messages: 'messages' } },
      {
        title: 'Waits by who ended them',
        unit: 'waits',
        series: {
          answered_by_human: 'answered by a human',
          answered_by_ai: 'answered by the AI',
          closed_without_answer: 'closed without an answer',
          ongoing_waits: 'not answered yet',
        },
      },
      {
        title: 'Time until a human answered',
        kind: 'lines',
        unit: null,
        series: {
          human_answer_median_seconds: 'median',
          human_answer_p90_seconds: 'nine of ten within',
        },
      },
      {
        title: 'Conversations at the end of the day',
        kind: 'lines',
        unit: 'conversations',
        series: { open_at_end: 'open', waiting_at_end: 'waiting' },
      },
      { title: 'Calls', unit: 'calls', series: { calls: 'calls' } },
    ],
    days: dayRows,
    facts: (within) => `select conversation_id, ended_by as what from fct_wait
      where ${where(within, '', 'started_date', null)}
      union all select conversation_id, 'created' from fct_conversation
      where ${where(within, '', 'created_date', null)}
      union all select conversation_id, 'message' from fct_contribution
        where role = 'visitor' and ${where(within, '', 'date', null)}
      union all select conversation_id, 'handling' from fct_state
        where state = 'handled' and ${where(within, '', 'from_date', null)}
      union all select conversation_id, 'open' from fct_state where state = 'open'
      and ${atEnd(within, 'from_date', 'to_date')}
      union all select conversation_id, 'waiting' from fct_wait
      where ${atEnd(within, 'open_from_date', 'ended_date')}`,
    counted: {
      started: "what = 'created'",
      visitor_messages: "what = 'message'",
      waits: "what in ('human', 'ai', 'handled', 'nobody')",
      answered_by_human: "what = 'human'",
      answered_by_ai: "what = 'ai'",
      closed_without_answer: "what = 'handled'",
      ongoing_waits: "what = 'nobody'",
      handlings: "what = 'handling'",
      open_at_end: "what = 'open'",
      waiting_at_end: "what = 'waiting'",
    },
    id: 'conversation_id',
  },
  agents: {
    title: 'Agents',
    view: agentViews.report_agent_day,
    about:
      'Not a ranking: whoever takes hard questions, nights or long threads looks slow, two ' +
      'people may share a name, and work that wrote no message is not here, nor are answers ' +
      'in conversations of which not all is known.',
    ofAgent: 'what the agent wrote and answered',
    empty: 'No human wrote in this period.',
    columns: {
      agent_name: 'Name',
      messages: 'Messages',
      conversations: 'Conversations',
      answers: 'Answers',
      answer_median_seconds: 'Median wait',
      answer_p90_seconds: '90 % within',
    },
    key: ['agent_name'],
    sort: '-messages',
    rows: (within) => agentRows(within, true),
    total: (within) => agentRows(within, false),
    facts: (within) => `select w.conversation_id, w.date
      from fct_contribution w where w.role = 'human' and ${where(within, 'w.', 'date', 'name')}`,
    counted: { messages: null, conversations: null },
    id: 'conversation_id',
    charts: [
      { title: 'Messages of agents by day', unit: 'messages', series: { messages: 'messages' } },
    ],
    days: (within) => `select w.date, sum(w.messages) as messages from fct_contribution w
      where w.role = 'human' and ${where(within, 'w.', 'date', 'name')} group by w.date`,
  },
  targets: {
    title: 'Targets',
    view: waitViews.report_sla_day,
    about:
      'By the day on which the visitor asked, judged by the target that applied then. Neither ' +
      'met nor missed are waits that are open, and those that ended otherwise: by a handling, ' +
      'or, until a human answers, by the AI or an answer that counts for an earlier wait. A high ' +
      'share may hide them. Waits in conversations of which not all is known are not here.',
    ofAgent: 'waits that the agent answered, so none is open or ended otherwise',
    empty:
      'No target applied to a wait of this period. Targets are set by analytics.targets in ' +
      'deskmirror.yaml.',
    columns: {
      sla: 'Target',
      hours: 'Hours',
      target_seconds: 'Within',
      waits: 'Waits',
      met: 'Met',
      missed: 'Missed',
      open: 'Open',
      without: 'Ended otherwise',
      met_share: 'Met, of those answered',
    },
    key: ['sla'],
    sort: 'sla',
    rows: (within, sql) => `select name as sla, ${columnList(targetColumns, sql)}
      from ${judgedWaits(`and ${where(within, 'w.', 'started_date', 'human_name')}`)}
      group by name`,
    facts: (within) => `select conversation_id, date, name as sla, target_seconds, waited, ended_by
      from ${judgedWaits(`and ${where(within, 'w.', 'started_date', 'human_name')}`)}`,
    counted: { waits: null, ...targetOutcomes },
    id: 'conversation_id',
    charts: [
      {
        title: 'Waits by day',
        unit: 'waits',
        series: { met: 'met', missed: 'missed', open: 'open', without: 'ended otherwise' },
      },
    ],
    split: 'sla',
  },
  ai: {
    title: 'AI',
    view: conversationViews.report_ai_month,
    about:
      'By the day on which the conversation was created. That no human wrote does not say ' +
      'that the visitor was helped.',
    ofAgent: 'conversations in which the agent wrote, so the AI answered none of them alone',
    empty: 'No conversation was created in this period.',
    columns: {
      date: 'Day',
      conversations: 'Conversations',
      with_ai: 'With the AI',
      ai_only: 'AI only',
      ai_only_and_handled: '… and handled',
      handed_over: 'Handed over',
      ai_only_share: 'AI only, of those with the AI',
    },
    key: ['date'],
    sort: '-date',
    rows: (within, sql) =>
      `select c.created_date as date, ${columnList(aiColumns, sql)} from ${createdWithin(within)}
        group by c.created_date`,
    total: (within, sql) => `select ${columnList(aiColumns, sql)} from ${createdWithin(within)}`,
    facts: (within) =>
      `select c.conversation_id, c.created_date as date, c.answered_by
        from ${createdWithin(within)}`,
    counted: {
      conversations: null,
      ai_only: "answered_by = 'ai'",
      handed_over: "answered_by = 'human and ai'",
      human_only: "answered_by = 'human'",
      nobody: "answered_by = 'nobody'",
    },
    id: 'conversation_id',
    charts: [
      {
        title: 'Conversations by who answered',
        unit: 'conversations',
        series: {
          ai_only: 'AI only',
          handed_over: 'handed over',
          human_only: 'humans only',
          nobody: 'nobody so far',
        },
      },
    ],
  },
  hours: {
    title: 'Hours',
    view: hourViews.report_hour,
    about:
      'How many agents were online is known only since the mirror began, and says neither ' +
      'who nor whether they were busy.',
    ofAgent: 'waits that the agent answered, and these answers; agents online are always all',
    empty: 'Nothing was counted in this period.',
    columns: {
      weekday: 'Weekday',
      hour: 'Hour',
      waits_started: 'Waits',
      human_answers: 'Answers of humans',
      agents_online: 'Agents online, mean',
      available_share: 'Available',
    },
    key: ['weekday', 'hour'],
    sort: 'weekday',
    // Each hour of the days that have begun; none where nothing was counted at all.
    rows: (within, sql) => `with events as ${eventsByHour(
      `and ${where(within, '', 'started_date', 'human_name')}`,
      `and ${where(within, '', 'human_answered_date', 'human_name')}`,
      `and ${where(within, '', 'date', null)}`,
    )}
      select d.weekday, h.hour, coalesce(sum(e.waits_started), 0) as waits_started,
        coalesce(sum(e.human_answers), 0) as human_answers,
        cast(sum(e.agent_seconds) as double precision) / nullif(sum(e.observed_seconds), 0)
        as agents_online,
        cast(sum(e.available_seconds) as double precision) / nullif(sum(e.observed_seconds), 0)
        as available_share
      from dim_date d
      cross join dim_hour h
      left join events e on e.date = d.date and e.hour = h.hour
      where ${where(within, 'd.', 'date', null)} and d.starts_at <= ${sql.now} and exists (select 1
      from events)
      group by d.weekday, h.hour`,
    facts: (
      within,
    ) => `select w.conversation_id, w.started_date as date, d.weekday, w.started_hour as hour
      from fct_wait w join dim_date d on d.project_id = w.project_id and d.date = w.started_date
      where ${where(within, 'w.', 'started_date', 'human_name')}`,
    counted: { waits_started: null },
    id: 'conversation_id',
    charts: [],
    heatMaps: { waits_started: 'Waits by weekday and hour', agents_online: 'Agents online, mean' },
  },
  calls: {
    title: 'Calls',
    view: callViews.report_call_day,
    about:
      'By the day on which the call started: calls of unknown start are not here. The ' +
      'service documents no field of a call: lengths, callers, directions and outcomes are ' +
      'known only where calls show them, in its words. Nor does it say to which conversation a ' +
      'call belongs: calls lead to all conversations of their callers.',
    ofAgent: 'calls that name the agent',
    empty: 'No call of this period is mirrored.',
    columns: {
      direction: 'Direction',
      outcome: 'Outcome',
      calls: 'Calls',
      callers: 'Callers',
      with_recording: 'With a recording',
      with_length: 'Of known length',
      seconds: 'Total length',
      median_seconds: 'Median length',
      longest_seconds: 'Longest',
    },
    key: ['direction', 'outcome'],
    sort: '-calls',
    rows: (within) => callRows(within, { direction: 'direction', outcome: 'outcome' }),
    total: (within) => callRows(within, {}),
    facts: (within) => `select visitor_id, started_date as date, direction, outcome from fct_call
      where ${where(within, '', 'started_date', 'agent')}`,
    counted: { calls: null },
    id: 'visitor_id',
    charts: [{ title: 'Calls by day', unit: 'calls', series: { calls: 'calls' } }],
  },
} as const satisfies Record<string, PeriodTable>

export type PeriodTableName = keyof typeof periodTables
