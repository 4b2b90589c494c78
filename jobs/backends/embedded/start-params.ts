/** With what settings the embedded Postgres starts. Its defaults suit a server; it has one session and small tables. */
import { PGlite } from '@electric-sql/pglite'

export const settings = [
  'shared_buffers=2MB',
  'max_connections=4',
  // With `minimal` a sequence starts anew after a crash if it was created shortly before: BullMQ would reuse ids of jobs.
  'wal_level=replica',
  'max_wal_senders=0',
  'max_replication_slots=0',
  // How much log is kept and may grow between two checkpoints.
  'min_wal_size=2MB',
  'max_wal_size=4MB',
]

export const startParams = [...PGlite.defaultStartParams, ...settings.flatMap((setting) => ['-c', setting])]
