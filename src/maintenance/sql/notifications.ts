/** Reads what people are to be notified of, and stores what was announced. */
import { sql } from 'kysely'
import { createOutbox } from '../../outbox/sql/outbox.ts'
import type { EpochMs, EpochSeconds, Ms } from '../../values/time.ts'
import { epochSeconds } from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { inTransaction } from '../../warehouse/transactions.ts'
import { type Announced, type Condition, levelOf } from '../core/notifications.ts'
import { isCircuitOpen } from './project-states.ts'
import { readPause, readProjectIncidents } from './projects.ts'

/** What failed earlier is no news. */
const failedWithinMs: Ms = 7 * 86_400_000

export async function readConditions(
  context: ProjectDb,
  now: EpochMs,
): Promise<readonly Condition[]> {
  const { db, project } = context
  const { held } = await readProjectIncidents(db, project, now)
  const stop = held && (held.resumeBy === '--restored' ? 'held' : 'person')
  const rows = await createOutbox(context).countUndecided(now - failedWithinMs)
  const sumOf = (wanted: string) =>
    rows.reduce((sum, { status, count }) => sum + (status === wanted ? count : 0), 0)
  const counts = { uncertain: sumOf('uncertain'), failed: sumOf('failed') }
  const isStopped = await isCircuitOpen(context, counts, now)
  const gaps = await countOpenGaps(context)
  const single = (event: Condition['event'], subject = '') => {
    return { event, subject, level: 1, count: 1 }
  }
  return [
    ...rows.map(({ status, batch, count, newest }): Condition => {
      // Of a batch that waits, one row is as much to say as all of them.
      if (status === 'draft')
        return { ...single('approval', batch), level: batch === '' ? count : 1 }
      const event = status === 'uncertain' ? status : 'failed'
      return { event, subject: `${status} ${batch}`, level: levelOf(count, newest), count }
    }),
    ...(stop === null ? [] : [single('sending_stopped', stop)]),
    ...(isStopped ? [single('sending_stopped', 'circuit')] : []),
    // A pause that is over is recorded until the service accepts the key.
    ...((await readPause(db, project)) === null ? [] : [single('key_denied')]),
    ...(gaps.count === 0 ? [] : [{ ...single('gap'), ...gaps }]),
  ]
}

async function countOpenGaps({ db, kind, project }: ProjectDb) {
  const { rows } = await sql<{ count: number; newest: EpochSeconds | null }>`
    select count(*) as count, max(${epochSeconds(kind, 'found_at')}) as newest from sync_gaps
    where project_id = ${project} and resolved_at is null`.execute(db)
  const { count, newest } = rows[0] ?? { count: 0, newest: null }
  return { count, level: levelOf(count, newest) }
}

/** The latest first. */
export async function listAnnounced({ db, project }: ProjectDb): Promise<readonly Announced[]> {
  const { rows } = await sql<Announced>`
    select event, subject, level, announced_at as "announcedAt" from sync_notifications
    where project_id = ${project} order by announced_at desc, event, subject`.execute(db)
  return rows
}

export function storeAnnounced(
  context: ProjectDb,
  changed: readonly Announced[],
  ended: readonly Announced[],
): Promise<void> {
  return inTransaction(context, async ({ db, project }) => {
    for (const { event, subject, level, announcedAt } of changed) {
      const state = { level, announced_at: announcedAt }
      await db
        .insertInto('sync_notifications')
        .values({ project_id: project, event, subject, ...state })
        .onConflict((conflict) =>
          conflict.columns(['project_id', 'event', 'subject']).doUpdateSet(state),
        )
        .execute()
    }
    for (const { event, subject } of ended)
      await sql`delete from sync_notifications where project_id = ${project}
        and event = ${event} and subject = ${subject}`.execute(db)
  })
}
