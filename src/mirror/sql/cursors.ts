/** Cursors by name: how far each list has been read. */
import { sql } from 'kysely'
import { sendStatement } from '../../warehouse/connection-pool.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'

export async function readCursor({ db, project }: ProjectDb, name: string): Promise<string | null> {
  const { rows } = await sql<{ position: string }>`
    select position from sync_cursors where project_id = ${project} and stream = ${name}`.execute(db)
  return rows[0]?.position ?? null
}

export async function writeCursors({ db, project }: ProjectDb, cursors: Readonly<Record<string, string | null>>) {
  for (const [stream, position] of Object.entries(cursors)) {
    if (position === null) {
      await sendStatement(db, sql`delete from sync_cursors where project_id = ${project} and stream = ${stream}`)
    } else {
      const insert = db
        .insertInto('sync_cursors')
        .values({ project_id: project, stream, position })
        .onConflict((conflict) => conflict.columns(['project_id', 'stream']).doUpdateSet({ position }))
      await sendStatement(db, insert.compile())
    }
  }
}
