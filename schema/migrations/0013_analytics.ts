/** The tables for analysts. Nothing is derived here: the next sync run fills them. */
import { type Kysely, sql } from 'kysely'
import { type ColumnType, type DatabaseKind, sqlTypes } from '../column-types.ts'

/** Columns as `name type`, `!` = not null. `index`: in Postgres, an index on these columns takes the key's place. */
const tables: Readonly<Record<string, { readonly key: string; readonly index?: string; readonly columns: string }>> = {
  fct_conversation: {
    key: 'project_id conversation_id',
    columns: `project_id key!, conversation_id key!, visitor_id text, origin text, assigned_agent_id text,
      created_at utc_time, created_date local_date, created_hour int32, is_complete boolean!, is_open boolean!,
      opened_by text, answered_by text!, messages int32!, visitor_messages int32!, human_messages int32!,
      ai_messages int32!, other_messages int32!, system_events int32!, waits int32!, human_turns int32!,
      first_visitor_at utc_time, first_answer_seconds integer, first_answer_business_seconds integer,
      first_human_at utc_time, first_human_name text, first_human_seconds integer,
      first_human_business_seconds integer, human_names int32!, human_span_seconds integer, last_human_name text, last_utterance_at utc_time,
      last_utterance_by text, longest_wait_seconds integer, total_wait_seconds integer,
      total_human_wait_seconds integer, waiting_since utc_time, handled_at utc_time, handled_date local_date,
      handled_seconds integer, handled_business_seconds integer, first_handled_at utc_time,
      first_handled_seconds integer, reopens_seen int32!, history_from utc_time!, history_complete boolean!,
      is_one_touch boolean!`,
  },
  fct_wait: {
    key: 'project_id conversation_id wait_number',
    index: 'project_id conversation_id',
    columns: `project_id key!, conversation_id key!, wait_number int32!, started_at utc_time!, started_date local_date!,
      started_hour int32!, messages int32!, ended_by text!, ended_at utc_time, ended_date local_date, ended_hour int32,
      ended_by_name text, answer_seconds integer, answer_business_seconds integer, human_answered_at utc_time,
      human_answered_date local_date, human_answered_hour int32, human_name text, human_seconds integer,
      human_business_seconds integer, ai_answers int32, after_ai_seconds integer, after_ai_business_seconds integer`,
  },
  fct_state: {
    key: 'project_id conversation_id state_number',
    index: 'project_id conversation_id',
    columns: `project_id key!, conversation_id key!, state_number int32!, state text!, from_at utc_time!,
      from_date local_date!, from_hour int32!, began_by text!, to_at utc_time, to_date local_date, seconds integer,
      business_seconds integer`,
  },
  fct_contribution: {
    key: 'project_id conversation_id date role name',
    index: 'project_id conversation_id',
    columns: `project_id key!, conversation_id key!, date local_date!, role key!, name key!, messages int32!,
      first_at utc_time!`,
  },
  fct_visit: {
    key: 'project_id visitor_id visit_number',
    index: 'project_id visitor_id',
    columns: `project_id key!, visitor_id key!, visit_number int32!, started_at utc_time!, started_date local_date!,
      ended_at utc_time!, entries int32!, seconds integer!, first_page text, last_page text`,
  },
  fct_availability_hour: {
    key: 'project_id date hour',
    columns: `project_id key!, date local_date!, hour int32!, snapshots int32!, observed_seconds integer!,
      available_seconds integer!, agent_seconds integer!, agents_min int32, agents_max int32`,
  },
  rollup_definitions: {
    key: 'project_id metric',
    columns: `project_id key!, metric key!, verdict text!, definition text, days int32!, days_equal int32!,
      distinct_values int32!, as_good int32!, next_best_equal int32!, mean_difference number, learned_at utc_time!`,
  },
  rollup_comparisons: {
    key: 'project_id window_from window_to metric',
    columns: `project_id key!, window_from utc_time!, window_to utc_time!, metric key!, date local_date!,
      service_value number!, own_value number, is_final boolean!, compared_at utc_time!`,
  },
  dim_sender_type: {
    key: 'project_id sender_type',
    columns: 'project_id key!, sender_type key!, role text!',
  },
  zone_offsets: { key: 'project_id from_s', columns: 'project_id key!, from_s integer!, offset_s int32!' },
  business_spans: {
    key: 'project_id opens_s',
    columns: 'project_id key!, opens_s integer!, closes_s integer!, seconds_before integer!',
  },
  dim_date: {
    key: 'project_id date',
    columns: `project_id key!, date local_date!, starts_at utc_time!, ends_at utc_time!, weekday int32!,
      week local_date!, month local_date!, quarter local_date!, year int32!, iso_week text!, is_weekend boolean!,
      is_holiday boolean!, business_seconds int32!`,
  },
  dim_sla: {
    key: 'project_id name from_date',
    columns: `project_id key!, name key!, clock text!, which text!, target_seconds integer!, in_business boolean!,
      from_date local_date!, to_date local_date`,
  },
  facts_due: { key: 'project_id kind id', columns: 'project_id key!, kind key!, id key!' },
  facts_state: {
    key: 'project_id',
    columns: `project_id key!, mirrored_since utc_time!, version int32!, fingerprint text!, time_zone text!,
      rebuilt_to text, personal_data boolean!`,
  },
  call_fields: {
    key: 'project_id',
    columns: 'project_id key!, visitor text, ended text, outcome text, duration text',
  },
  _metabase_metadata: { key: 'keypath', columns: 'keypath key!, value text!' },
}

export async function analytics(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  for (const [name, { key, index, columns }] of Object.entries(tables)) {
    const declared = columns.split(',').map((column) => declare(column, kind))
    const hasKey = kind === 'sqlite' || index === undefined
    const primaryKey = hasKey ? [`primary key (${toList(key)})`] : []
    // All are found by their keys, so an index beside the rows would only take room.
    const layout = kind === 'sqlite' ? ' without rowid' : ''
    await run(`create table ${name} (${[...declared, ...primaryKey].join(', ')})${layout}`)
    if (!hasKey) await run(`create index ${name}_by_parent on ${name} (${toList(index)})`)
  }
  // Written once, because old runs may be deleted. A later project's is written with its first facts.
  await run(`insert into facts_state (project_id, mirrored_since, version, fingerprint, time_zone, personal_data)
    select project_id, min(started_at), 0, '', '', true from sync_runs group by project_id`)
}

/** 0032: the rollups are compared in views. What was learned before is no longer kept up. */
export async function dropRollupTables(db: Kysely<unknown>): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  // It reads the tables, and is created anew after all migrations.
  await run('drop view if exists report_rollup_day')
  await run('drop table rollup_comparisons')
  await run('drop table rollup_definitions')
  await run("delete from service_behaviours where name like 'analytics.%'")
}

function toList(names: string): string {
  return names.split(' ').join(', ')
}

function declare(column: string, kind: DatabaseKind): string {
  const [name = '', type = ''] = column.trim().split(/\s+/)
  return `${name} ${sqlTypes[kind][type.replace('!', '') as ColumnType]}${type.endsWith('!') ? ' not null' : ''}`
}
