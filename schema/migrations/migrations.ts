/** Every migration, in order: append-only, up only. Landed ones are never edited; a fix gets the next number. */
import type { Kysely } from 'kysely'
import type { DatabaseKind } from '../column-types.ts'
import { firstTables } from './0001_first_tables.ts'
import { workers } from './0002_workers.ts'
import { outbox } from './0003_outbox.ts'
import { webhooks } from './0004_webhooks.ts'
import { triggerRights } from './0005_trigger_rights.ts'
import { cancellations } from './0006_cancellations.ts'
import { rollupDays } from './0007_rollup_days.ts'
import { questionIndexes } from './0008_question_indexes.ts'
import { failures } from './0011_failures.ts'
import { gapReasons } from './0012_gap_reasons.ts'
import { analytics, dropRollupTables } from './0013_analytics.ts'
import { batches } from './0014_batches.ts'
import { webConsole } from './0015_console.ts'
import { messageRows } from './0016_message_rows.ts'
import { audits } from './0017_audits.ts'
import { rowCounts } from './0018_row_counts.ts'
import { activityKeys } from './0019_activity_keys.ts'
import { listProofs } from './0020_list_proofs.ts'
import { deletions } from './0021_deletions.ts'
import { neededTypes } from './0022_needed_types.ts'
import { endedSessions } from './0024_ended_sessions.ts'
import { retention } from './0025_retention.ts'
import { installation } from './0026_installation.ts'
import { resumedSending } from './0028_resumed_sending.ts'
import { handlings } from './0029_handlings.ts'
import { callFields } from './0030_call_fields.ts'
import { repeatedActivity } from './0033_repeated_activity.ts'
import { fieldPaths } from './0034_field_paths.ts'
import { changedApprovals } from './0035_changed_approvals.ts'
import type { MigrationName } from './migration-names.ts'

/** Runs in one transaction with the record that it has run. */
export type Migration = (db: Kysely<unknown>, kind: DatabaseKind) => Promise<void>

export const migrations: Readonly<Record<MigrationName, Migration>> = {
  '0001_first_tables': firstTables,
  '0002_workers': workers,
  '0003_outbox': outbox,
  '0004_webhooks': webhooks,
  '0005_trigger_rights': triggerRights,
  '0006_cancellations': cancellations,
  '0007_rollup_days': rollupDays,
  '0008_question_indexes': questionIndexes,
  '0011_failures': failures,
  '0012_gap_reasons': gapReasons,
  '0013_analytics': analytics,
  '0014_batches': batches,
  '0015_console': webConsole,
  '0016_message_rows': messageRows,
  '0017_audits': audits,
  '0018_row_counts': rowCounts,
  '0019_activity_keys': activityKeys,
  '0020_list_proofs': listProofs,
  '0021_deletions': deletions,
  '0022_needed_types': neededTypes,
  '0024_ended_sessions': endedSessions,
  '0025_retention': retention,
  '0026_installation': installation,
  '0028_resumed_sending': resumedSending,
  '0029_handlings': handlings,
  '0030_call_fields': callFields,
  '0032_rollup_tables': dropRollupTables,
  '0033_repeated_activity': repeatedActivity,
  '0034_field_paths': fieldPaths,
  '0035_changed_approvals': changedApprovals,
}
