/** Some thousands of the queue at a time, in its order: a transaction over a million rows holds up everybody else. */
import { sql } from 'kysely'
import type { Db } from '../database/connection-pool.ts'

const rowsPerWindow = 2000

export type QueueWindow = {
  readonly project: string
  /** Only rows of this batch; null = all. */
  readonly batch: string | null
  /** Places in the queue: behind this one, up to that one. */
  readonly after: number
  readonly upTo: number
}

/**
 * The last place of the next window; null: there is nothing more. Whoever changes the rows of a window asks for them by their
 * place alone, and hides the columns of other indexes from the planner (`status || ''`): by its status it would read through all the
 * rows of before for each window.
 */
export async function findWindowEnd(db: Db, { project, batch, after, upTo }: QueueWindow): Promise<number | null> {
  const own = batch === null ? sql`true` : sql`project_id = ${project} and batch_id = ${batch}`
  const { rows } = await sql<{ end: number | null }>`
    select max(seq) as "end" from (select seq from writebacks where seq > ${after} and seq <= ${upTo} and ${own}
      order by seq limit ${sql.lit(rowsPerWindow)}) places`.execute(db)
  return rows[0]?.end ?? null
}
