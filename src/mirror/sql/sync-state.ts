/** How far each list has been read, and how the service was observed to behave. */
import { sql } from 'kysely'
import type { ServiceBehaviour } from '../../../schema/row.ts'
import { type ColumnRule, type ColumnRules, noColumnRules } from '../../values/column-rules.ts'
import { toTimestamp } from '../../values/time.ts'
import { decodeText, encodeText } from '../../warehouse/escape.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { type ColumnState, laxColumns } from '../core/applied-columns.ts'

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

/** As rules, what is private in stored rows, and would not be by these. */
export async function readLaxColumns(
  context: ProjectDb,
  rules: ColumnRules = noColumnRules,
): Promise<readonly ColumnRule[]> {
  const states = [...(await readColumnStates(context))]
  return states.flatMap(([stream, state]) =>
    laxColumns(state, rules.describe(stream)).map((path) => ({ stream, path, action: 'block' })),
  )
}

/** Pending: the files and statistics of the database still have what was cleaned or replaced. */
export const compactionCursor = 'columns compaction'

/** The next sync compacts the database. */
export function requestCompaction(context: ProjectDb): Promise<void> {
  return writeCursors(context, { [compactionCursor]: 'pending' })
}
