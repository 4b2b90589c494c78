/** The notes of the data dictionary, in the database itself, where a BI tool shows them. */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../schema/portable.ts'
import { type Table, tables } from '../../schema/tables.ts'
import type { Db } from './session.ts'

/** SQLite has no place for them. */
export async function writeComments(db: Db, kind: DatabaseKind): Promise<void> {
  if (kind === 'sqlite') return
  for (const [name, table] of Object.entries<Table>(tables)) {
    await sql`comment on table ${sql.table(name)} is ${sql.lit(table.note)}`.execute(db)
    for (const [column, [, note]] of Object.entries(table.columns)) {
      await sql`comment on column ${sql.ref(`${name}.${column}`)} is ${sql.lit(note)}`.execute(db)
    }
  }
}
