/** The notes of the data dictionary as comments on tables, views and columns, which BI tools show. */
import { sql } from 'kysely'
import type { Db } from './connection-pool.ts'

type CommentedObject = {
  readonly type: 'table' | 'view'
  readonly name: string
  readonly note: string
  /** The note of each column. */
  readonly columns: Readonly<Record<string, string>>
}

/** For Postgres: SQLite has no comments. One statement, as hundreds take far longer. */
export async function writeComments(db: Db, objects: readonly CommentedObject[]): Promise<void> {
  const comments = objects.flatMap(({ type, name, note, columns }) => [
    sql`comment on ${sql.raw(type)} ${sql.table(name)} is ${sql.lit(note)};`,
    ...Object.entries(columns).map(
      ([column, text]) => sql`comment on column ${sql.ref(`${name}.${column}`)} is ${sql.lit(text)};`,
    ),
  ])
  await sql`do $comments$ begin ${sql.join(comments, sql` `)} end $comments$`.execute(db)
}
