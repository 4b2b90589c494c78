/** Where a batch stands in the queue: what is sent before it, and until when it rests. */
import { sql } from 'kysely'
import type { Rest } from '../../core/outbox/batch-estimate.ts'
import { readClock } from '../database/database-clock.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { graceReason } from './claimable.ts'

export async function countAhead({ db, project }: ProjectDb, batch: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from writebacks where project_id = ${project} and status in ('queued','sending')
      and batch_id is distinct from ${batch} and seq < (select min(seq) from writebacks own
        where own.project_id = ${project} and own.batch_id = ${batch} and own.status in ('draft','queued','sending'))`.execute(
    db,
  )
  return rows[0]?.count ?? 0
}

type QueuedTimes = {
  readonly waiting: number
  readonly ready: number
  readonly until: number | null
  readonly graces: number
  readonly why: string | null
}

export async function findRest({ db, kind, project, typed }: ProjectDb, batch: string): Promise<Rest | null> {
  const clock = await readClock(db, kind)
  const now = typed('integer', clock())
  const { rows } = await sql<QueuedTimes>`
    select count(case when due_at > ${now} then 1 end) as waiting,
      count(case when due_at is null or due_at <= ${now} then 1 end) as ready, min(due_at) as until,
      count(case when undo_until = due_at then 1 end) as graces, min(step) as why
    from writebacks where project_id = ${project} and batch_id = ${batch} and status in ('queued','sending')`.execute(
    db,
  )
  const { waiting = 0, ready = 0, until = null, graces = 0, why = null } = rows[0] ?? {}
  if (waiting === 0 || ready > 0 || until === null) return null
  return {
    until,
    because: graces === waiting ? graceReason : (why ?? 'it waits for another attempt'),
  }
}
