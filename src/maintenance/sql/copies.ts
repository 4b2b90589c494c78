/** Copies of a Postgres database that its server knows of, beyond the reach of a search. */

import { sql } from 'kysely'
import { pluralize } from '../../values/format.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { countRowsOf } from '../../warehouse/dialect.ts'

/** In words, for people. */
export async function listCopies(db: Db): Promise<readonly string[]> {
  const count = (from: string) => countRowsOf(db, sql.raw(from))
  const replicas = await count(`pg_stat_replication`)
  const slots = await count(`pg_replication_slots where not active`)
  const publications = await count('pg_publication')
  const archives = await count(`pg_settings where name = 'archive_mode' and setting <> 'off'`)
  return [
    'the write-ahead log of Postgres, until Postgres overwrites it',
    'old rows of its catalog: a superuser removes them by `vacuum full pg_statistic, ' +
      'pg_statistic_ext_data`',
    ...(archives > 0 ? ['the archive of that log, which archive_mode fills'] : []),
    ...(replicas > 0
      ? [
          `${pluralize(replicas, 'connected replica')}: it has the ` +
            'same rows and files within moments',
        ]
      : []),
    ...(slots > 0
      ? [`that log for longer: ${pluralize(slots, 'replication slot')} that nobody reads`]
      : []),
    ...(publications > 0
      ? [
          `subscribers of ${pluralize(publications, 'publication')}: their tables follow, ` +
            'their statistics do not',
        ]
      : []),
  ]
}
