/** How far each list has been read, and how the service was observed to behave. */
import { sql } from 'kysely'
import type { ServiceBehaviour } from '../../../schema/row.ts'
import { toTimestamp } from '../../values/time.ts'
import { decodeText, encodeText } from '../../warehouse/escape.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { ColumnState } from '../core/applied-columns.ts'

export async function readCursor({ db, project }: ProjectDb, name: string): Promise<string | null> {
  const { rows } = await sql<{ position: string }>`
    select position from sync_cursors where project_id = ${project} and stream = ${name}`.execute(
    db,
  )
  return rows[0]?.position ?? null
}

export async function writeCursors(
  { db, project }: ProjectDb,
  cursors: Readonly<Record<string, string | null>>,
) {
  for (const [stream, position] of Object.entries(cursors)) {
    if (position === null) {
      await sql`delete from sync_cursors where project_id = ${project}
        and stream = ${stream}`.execute(db)
    } else {
      await db
        .insertInto('sync_cursors')
        .values({ project_id: project, stream, position })
        .onConflict((conflict) =>
          conflict.columns(['project_id', 'stream']).doUpdateSet({ position }),
        )
        .execute()
    }
  }
}

export async function readBehaviours({ db, project }: ProjectDb): Promise<Map<string, string>> {
  const { rows } = await sql<{ name: string; value: string }>`
    select name, value from service_behaviours where project_id = ${project}`.execute(db)
  return new Map(rows.map(({ name, value }) => [name, decodeText(value)]))
}

/** `learned_at` moves only when the value does. */
export async function recordBehaviours(
  trx: ProjectDb,
  behaviours: readonly ServiceBehaviour[],
): Promise<void> {
  const { db, kind, project, clock } = trx
  for (const { name, value: newValue, evidence: newEvidence } of behaviours) {
    const value = encodeText(kind, newValue)
    const evidence = encodeText(kind, newEvidence)
    const fact = { value, evidence, learned_at: toTimestamp(clock()) }
    await db
      .insertInto('service_behaviours')
      .values({ project_id: project, name, ...fact })
      .onConflict((conflict) =>
        conflict
          .columns(['project_id', 'name'])
          .doUpdateSet(fact)
          .where('service_behaviours.value', '!=', value),
      )
      .execute()
  }
}

export const columnsCursor = (stream: string) => `columns:${stream}`

/** Which rules of columns the rows of each stream follow; one without any is absent. */
export async function readColumnStates({
  db,
  project,
}: Pick<ProjectDb, 'db' | 'project'>): Promise<ReadonlyMap<string, ColumnState>> {
  const { rows } = await sql<{ stream: string; position: string }>`
    select stream, position from sync_cursors
    where project_id = ${project} and stream like 'columns:%'`.execute(db)
  return new Map(
    rows.map(({ stream, position }) => [
      stream.slice(columnsCursor('').length),
      JSON.parse(position),
    ]),
  )
}

/** Pending: the files and statistics of the database still have what was cleaned or replaced. */
export const compactionCursor = 'columns compaction'

/** The next sync compacts the database. */
export function requestCompaction(context: ProjectDb): Promise<void> {
  return writeCursors(context, { [compactionCursor]: 'pending' })
}
