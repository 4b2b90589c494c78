/**
 * The names of all migrations, in order: what the schema of a database is compared with. Without the migrations themselves,
 * which a process that only reads never runs.
 */
export const migrationNames = [
  '0001_first_tables',
  '0002_workers',
  '0003_outbox',
  '0004_webhooks',
  '0005_trigger_rights',
  '0006_cancellations',
  '0007_rollup_days',
  '0008_question_indexes',
  '0011_failures',
  '0012_gap_reasons',
  '0013_analytics',
  '0014_batches',
  '0015_console',
  '0016_message_rows',
  '0017_audits',
  '0018_row_counts',
  '0019_activity_keys',
  '0020_list_proofs',
  '0021_deletions',
  '0022_needed_types',
  '0024_ended_sessions',
  '0025_retention',
  '0026_installation',
  '0028_resumed_sending',
  '0029_handlings',
  '0030_call_fields',
  '0032_rollup_tables',
  '0033_repeated_activity',
  '0034_field_paths',
  '0035_changed_approvals',
] as const

export type MigrationName = (typeof migrationNames)[number]
