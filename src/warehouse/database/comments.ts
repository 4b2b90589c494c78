/** The notes of the data dictionary, in the database itself, where a BI tool shows them. */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { type TableSpec, tables } from '../../../schema/tables.ts'
import type { Db } from './connection-pool.ts'

/** SQLite has no place for them. One statement: hundreds take longer than all the rest of a migration. */
export async function writeComments(db: Db, kind: DatabaseKind): Promise<void> {
  if (kind === 'sqlite') return
  const comments = Object.entries<TableSpec>(tables).flatMap(([name, table]) => [
    sql`comment on table ${sql.table(name)} is ${sql.lit(table.note)};`,
    ...Object.entries(table.columns).map(
      ([column, [, note]]) => sql`comment on column ${sql.ref(`${name}.${column}`)} is ${sql.lit(note)};`,
    ),
  ])
  await sql`do $comments$ begin ${sql.join(comments, sql` `)} end $comments$`.execute(db)
}
