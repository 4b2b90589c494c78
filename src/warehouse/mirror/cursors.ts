/** Cursors by name: how far each list has been read. */
import type { Db } from '../database/connection-pool.ts'
import type { ProjectContext } from './project-context.ts'

export async function readCursor(
  context: Pick<ProjectContext, 'db' | 'project'>,
  name: string,
): Promise<string | null> {
  const row = await context.db
    .selectFrom('sync_cursors')
    .select('position')
    .where((eb) => eb.and({ project_id: context.project, stream: name }))
    .executeTakeFirst()
  return row?.position ?? null
}

export async function writeCursors(
  context: ProjectContext,
  trx: Db,
  cursors: Readonly<Record<string, string | null>>,
): Promise<void> {
  for (const [stream, position] of Object.entries(cursors)) {
    if (position === null) {
      await trx
        .deleteFrom('sync_cursors')
        .where((eb) => eb.and({ project_id: context.project, stream }))
        .execute()
    } else {
      await trx
        .insertInto('sync_cursors')
        .values({ project_id: context.project, stream, position })
        .onConflict((conflict) => conflict.columns(['project_id', 'stream']).doUpdateSet({ position }))
        .execute()
    }
  }
}
