/** Partial indexes make rare rows (deleted, pending, open gaps) cheap to find and to keep. */
import { historyTable } from './mirror-tables.ts'
import { inList, operationsWhere } from './operation-specs.ts'
import {
  isChildStream,
  isListStream,
  isPagedStream,
  type StreamName,
  streamNames,
  streamSpecs,
} from './stream-specs.ts'
import { storedTable } from './tables.ts'

export const uniqueIndexes = [
  'gaps_open on sync_gaps (project_id, stream, dedup_key) where resolved_at is null',
  'writebacks_by_order on writebacks (seq)',
  'writebacks_by_ref on writebacks (project_id, ref) where ref is not null',
  // A message of the service is the result of one write-back, never of two.
  'writebacks_by_message on writebacks (project_id, lane, message_id) where message_id is not null',
  'events_by_order on writeback_events (seq)',
  'console_events_by_order on console_events (id)',
  'search_by_id on search_conversations (id)',
]

/** Indexes of the others have the name of their stream. */
const shortNames: Partial<Record<StreamName, string>> = {
  visitor_activity: 'activity',
  call_recordings: 'recordings',
}

export const indexes = [
  ...streamNames.flatMap(indexesOf),
  'conversations_by_visitor on conversations (project_id, visitor_id)',
  'conversations_open on conversations (project_id, last_message_at) where handled_at is null',
  // With the ids, the console compares both without reading a row.
  `conversations_waiting on conversations (project_id, waiting_since, id)
      where waiting_since is not null and handled_at is null and deleted_at is null`,
  // With all by which the console chooses, sorts and counts what is open; without the flag itself,
  // SQLite would read the rows.
  `facts_open on fct_conversation (project_id, created_at, conversation_id, waiting_since,
      last_utterance_at, assigned_agent_id, origin, is_open) where is_open`,
  'facts_waiting on fct_conversation (project_id, waiting_since, conversation_id) where ' +
    'waiting_since is not null',
  'visitors_by_email on visitors (project_id, email)',
  'metrics_by_name on analytics_metrics (metric, project_id, window_from)',
  'changes_by_conversation on conversation_changes (project_id, conversation_id)',
  'changes_of_handled on conversation_changes (project_id, ' +
    "conversation_id) where field = 'handled_at'",
  'children_to_read on sync_children (project_id, stream, due_at) where due_at is not null ' +
    'and read_version = 0',
  `children_to_refresh on sync_children (project_id, stream, due_at)
      where due_at is not null and read_version > 0 and reread_whole is null`,
  `children_to_proofread on sync_children (project_id, stream, due_at)
      where due_at is not null and read_version > 0 and reread_whole is not null`,
  'children_by_length on sync_children (project_id, stream, ' +
    'listed_rows) where listed_rows is not null',
  'children_failing on sync_children (project_id, stream) where error is not null',
  'runs_by_beat on sync_runs (project_id, beat_at)',
  'runs_unfinished on sync_runs (project_id) where finished_at is null',
  'runs_by_end on sync_runs (finished_at)',
  'gaps_closed on sync_gaps (resolved_at) where resolved_at is not null',
  'writebacks_by_status on writebacks (project_id, status, created_at)',
  'writebacks_in_lane on writebacks (project_id, lane, seq) where status in ' +
    "('queued','sending','uncertain')",
  // Sending a write-back reads the history of its lane; claiming reads only the open ones.
  'writebacks_by_lane on writebacks (project_id, lane, seq)',
  "writebacks_to_do on writebacks (project_id, seq) where status in ('queued','sending')",
  'writebacks_owned on writebacks (project_id, owner) where owner is not null',
  // Cancelled and expired write-backs say nothing about the service.
  `writebacks_by_fate on writebacks (project_id, finished_at) where finished_at is not null
      and operation ${inList(operationsWhere(({ isIdempotent }) => !isIdempotent))}
      and status in ('succeeded','failed','uncertain')`,
  'writebacks_by_batch on writebacks (project_id, batch_id, seq) where batch_id is not null',
  // Counts a batch by status from the index alone.
  'writebacks_batch_status on writebacks (project_id, batch_id, status) where batch_id is not null',
  'writebacks_with_words on writebacks (finished_at) where finished_at ' +
    'is not null and erased_at is null',
  'events_by_writeback on writeback_events (project_id, writeback_id, seq)',
  'batches_by_age on writeback_batches (project_id, created_at, id)',
  'batches_stopped on writeback_batches (project_id) where stopped_at is not null',
  'batches_following on writeback_batches (project_id) where done_to is not null',
  'batches_reverting on writeback_batches (project_id, reverts) where reverts is not null',
  'cancellations_open on writeback_cancellations (project_id) where finished_at is null',
]

/** Rows of a stream are found by their start, among deleted ones, and by ids in any case. */
function indexesOf(stream: StreamName): readonly string[] {
  const { timeColumn } = streamSpecs[stream]
  const stored = storedTable(stream)
  const name = shortNames[stream] ?? stream
  const found: string[] = []
  const start = isPagedStream(stream) ? streamSpecs[stream].startColumn : null
  const sort = start === timeColumn ? 'time' : 'start'
  if (start !== null) found.push(`${name}_by_${sort} on ${stored} (project_id, ${start})`)
  const isDeleted = 'where deleted_at is not null'
  if (isChildStream(stream)) found.push(`${name}_deleted on ${stored} (project_id) ${isDeleted}`)
  if (!isListStream(stream)) return found
  found.push(`${name}_deleted on ${stored} (project_id, deleted_at) ${isDeleted}`)
  found.push(`${name}_by_identity on ${stored} (project_id, lower(id))`)
  return [...found, `${name}_history_by_end on ${historyTable(stream)} (valid_to)`]
}
