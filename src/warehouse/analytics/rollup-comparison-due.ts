/** When the numbers of the rollups are compared again: once a day, and when another day has become final. */
import { sql } from 'kysely'
import { daySeconds, type EpochSeconds, hourSeconds, parseTime } from '../../core/time.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { countWaitingConversations } from './waiting-facts.ts'

/** Days become final one after the other while a history is read. */
const minIntervalSeconds = hourSeconds

/** Cheap: it is asked at the end of each sync. Never before all facts have been derived. */
export async function isComparisonDue(context: ProjectDb, now: EpochSeconds): Promise<boolean> {
  const { db, project } = context
  const last = await db
    .selectFrom('rollup_definitions')
    .select((eb) => eb.fn.max('learned_at').as('at'))
    .where('project_id', '=', project)
    .executeTakeFirst()
  const learnedAt = parseTime(last?.at) ?? null
  const age = learnedAt === null ? Number.POSITIVE_INFINITY : now - learnedAt
  if (age < minIntervalSeconds && age >= 0) return false
  const { conversations, isRebuild } = await countWaitingConversations(context)
  if (conversations > 0 || isRebuild) return false
  return age >= daySeconds || age < 0 || (await hasEndedDay(context))
}

/** A day that was read after its end, later than all that have been compared. */
async function hasEndedDay({ db, project }: ProjectDb): Promise<boolean> {
  const compared = await db
    .selectFrom('rollup_comparisons')
    .select((eb) => eb.fn.max('window_to').as('to'))
    .where('project_id', '=', project)
    .where(sql<boolean>`is_final`)
    .executeTakeFirst()
  const read = await db
    .selectFrom('analytics_rollups')
    .select((eb) => eb.fn.max('window_to').as('to'))
    .where('project_id', '=', project)
    .whereRef('read_at', '>', 'window_to')
    .executeTakeFirst()
  return (parseTime(read?.to) ?? 0) > (parseTime(compared?.to) ?? 0)
}
