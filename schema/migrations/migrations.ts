/**
 * Brings a database to this version's schema. Tables, columns, indexes and triggers are those that `schema/` describes; a
 * migration is what else is to be done once, in a warehouse that has rows. Append-only: landed ones are never edited.
 */
import { findPath } from '../../src/values/field-path.ts'
import { tryParseJson } from '../../src/values/json.ts'
import type { DatabaseKind } from '../column-types.ts'
import { createMissing, type Run } from '../create-missing.ts'
import { createMessagesView } from '../messages-view.ts'
import { operationSpecs } from '../operation-specs.ts'
import { replaceChecks } from '../replace-checks.ts'
import { type StreamName, streamSpecs } from '../stream-specs.ts'
import { replaceTriggers } from '../triggers.ts'
import { moveMessages } from './0016_message_rows.ts'
import { dropDeletionIndexes, joinDoubledRows, joinRepeatedActivity } from './0021_0033_doubled_rows.ts'

type Step = (run: Run, kind: DatabaseKind) => Promise<unknown>
/** `before`: while the tables are the older ones. `after`: when they are those of this version. */
type Migration = { readonly before?: Step; readonly after?: Step }

/** Those of 0.1.0, the oldest version whose warehouses can be upgraded. */
export const released = [
  '0001_first_tables',
  '0002_workers',
  '0003_outbox',
  '0004_webhooks',
  '0005_trigger_rights',
  '0006_cancellations',
  '0007_rollup_days',
  '0008_question_indexes',
  '0011_failures',
] as const

/** Those without a step only made what this version describes. */
const sinceReleased: Readonly<Record<string, Migration>> = {
  '0012_gap_reasons': { after: rewordGapReasons },
  // Written once, because old runs may be deleted. A later project's is written with its first facts.
  '0013_analytics': {
    after: (run) =>
      run(`insert into facts_state (project_id, mirrored_since, version, fingerprint, time_zone, personal_data)
        select project_id, min(started_at), 0, '', '', true from sync_runs group by project_id`),
  },
  '0014_batches': {
    after: (run) =>
      run(`insert into writeback_batches (project_id, id, rows, created_at, created_by, finished_at)
        select project_id, batch_id, count(*), min(created_at), min(created_by),
          case when count(case when status in ('draft','queued','sending','uncertain') then 1 end) = 0
            then max(finished_at) end
        from writebacks where batch_id is not null group by project_id, batch_id`),
  },
  '0015_console': {},
  // Rows that are stored already are rewritten later, in batches; the view shows both forms.
  '0016_message_rows': {
    before: moveMessages,
    after: (run) =>
      run(`insert into sync_rewrites (name, position)
        select 'messages.raw', '' where exists (select 1 from message_rows)`),
  },
  '0017_audits': {},
  '0018_row_counts': {},
  // Entries of visitors' activity are identified by their id and their time, no longer by their id alone. Their keys are
  // rewritten afterwards, in batches, and are shorter: a trigger keeps the longer ones of older versions out.
  '0019_activity_keys': {
    after: (run) =>
      run(`insert into sync_rewrites (name, position)
        select 'visitor_activity.entry_hash', '' where exists (select 1 from visitor_activity)`),
  },
  // Cursors that earlier versions stored after an interrupted read may leave out what was not proven yet, and from which end
  // pages come may have been learned from a chance. The lists are read anew.
  '0020_list_proofs': {
    after: async (run) => {
      await run(`delete from sync_cursors where stream in ('conversations', 'visitors', 'calls')
        or stream like '%:whole' or stream like '%:whole:since'`)
      await run(`delete from service_behaviours where name like '%.pages' or name = 'conversations.handled_filter'`)
    },
  },
  '0021_deletions': { before: dropDeletionIndexes, after: joinDoubledRows },
  // All columns are filled from `raw` once more, as values that did not fit were lost.
  '0022_needed_types': {
    after: (run) => run(`update discovered_fields set fill_after = '' where column_name is not null`),
  },
  '0024_ended_sessions': {},
  '0025_retention': {},
  '0026_installation': {},
  '0028_resumed_sending': {},
  '0029_handlings': {},
  '0030_call_fields': {},
  // The rollups are compared in views. What was learned before is no longer kept up. The view reads the tables, and is created
  // anew after all migrations.
  '0032_rollup_tables': {
    before: async (run) => {
      await run('drop view if exists report_rollup_day')
      await run('drop table if exists rollup_comparisons')
      await run('drop table if exists rollup_definitions')
      await run("delete from service_behaviours where name like 'analytics.%'")
    },
  },
  '0033_repeated_activity': { after: joinRepeatedActivity },
  '0034_field_paths': { after: escapeFieldPaths },
  '0035_changed_approvals': {},
  '0036_waiting_facts': {},
  '0037_stopped_sending': {},
  '0038_source_rows': {},
  '0039_older_senders': {},
  '0040_found_by': {},
  // They get the ids.
  '0041_waiting_ids': {
    before: async (run) => {
      for (const index of ['conversations_waiting', 'facts_waiting']) await run(`drop index if exists ${index}`)
    },
  },
}

/** Those of operations have no step: checks are made anew whenever they differ. */
const ofOperations = Object.values(operationSpecs).map(({ since }) => since)

/** All, in order: what the schema of a database is compared with. */
export const migrationNames: readonly string[] = [
  ...new Set([...released, ...Object.keys(sinceReleased), ...ofOperations]),
].sort()

/** `applied`: those that the database has; none: it is empty. Returns those that it gets. */
export async function applyMigrations(run: Run, kind: DatabaseKind, applied: readonly string[]) {
  const missing = migrationNames.filter((name) => !applied.includes(name))
  if (missing.length === 0) return missing
  const steps = applied.length === 0 ? [] : missing.map((name) => sinceReleased[name] ?? {})
  for (const { before } of steps) await before?.(run, kind)
  await createMissing(run, kind)
  if (applied.length > 0) await replaceChecks(run, kind)
  await createMessagesView(run, kind)
  // Before the rows change, so that no other process stores one in an older form meanwhile.
  await replaceTriggers(run, kind)
  for (const { after } of steps) await after?.(run, kind)
  return missing
}

const moreRows = 'the service says that there is more'

const rewordings = [
  [`${moreRows}, and no parameter leads there`, 'the service reports more rows, but no request parameter reaches them'],
  [`${moreRows}, and shows none of it`, 'the service reports more rows, but the page is empty'],
  [
    'the rows follow no time that they show, so that pages may not join',
    'the rows are not sorted by any of their times, so rows between pages may be missing',
  ],
  [
    'a page shows no row of the one before it, so that rows between them may be missing',
    'a page does not overlap the previous one, so rows between them may be missing',
  ],
]

/** Where the reason identifies a gap, an open one stays the same gap. */
async function rewordGapReasons(run: Run): Promise<void> {
  for (const [before, now] of rewordings)
    await run(`
      update sync_gaps set reason = replace(reason, '${before}', '${now}'), subject = replace(subject, '${before}', '${now}')
      where reason like '%${before}%'`)
}

const quote = (text: unknown) => `'${String(text).replaceAll("'", "''")}'`

/** A dot within the name of a field is escaped, so that no nested field shares its column. Columns keep their names. */
async function escapeFieldPaths(run: Run): Promise<void> {
  const fields = await run(`select distinct stream, path, column_name as "column" from discovered_fields
    where column_name is not null and path like '%.%'`)
  for (const { stream, path, column } of fields) {
    const [stored] = await run(`select cast(raw as text) as raw from ${streamSpecs[stream as StreamName].table}
      where "${String(column).replaceAll('"', '""')}" is not null limit 1`)
    const escaped = findPath(tryParseJson(String(stored?.raw ?? '')) ?? null, String(path))
    if (escaped === undefined || escaped === path) continue
    const ofStream = `stream = ${quote(stream)} and path =`
    await run(`update discovered_fields set path = ${quote(escaped)} where ${ofStream} ${quote(path)}
      and not exists (select 1 from discovered_fields as other where other.${ofStream} ${quote(escaped)})`)
  }
}
