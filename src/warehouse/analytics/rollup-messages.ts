/** Counts messages as numbers of the service's rollups may count them: by sender type, in groups that no definition tells apart. */
import { setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import type { RollupCounts } from '../../core/analytics/rollup-events.ts'
import { createRoleOfSender } from '../../core/analytics/sender-roles.ts'
import { daySeconds, type EpochSeconds, rfc3339 } from '../../core/time.ts'
import { groupedTime, isWithin, type RollupRange } from './rollup-range.ts'
import { epochSeconds } from './sql-time.ts'

type Row = {
  readonly at: EpochSeconds
  readonly senderType: string | null
  readonly isUtterance: unknown
  readonly count: number
}

/** A day at a time: SQLite does nothing else while it counts. */
export async function readRollupMessages(range: RollupRange): Promise<RollupCounts['messages']> {
  const { days, settings } = range
  const roleOf = createRoleOfSender(settings.roles)
  const messages: RollupCounts['messages'][number][] = []
  for (let from = days.from; from < days.to; from += daySeconds) {
    const to = Math.min(from + daySeconds, days.to)
    const rows = await readGroups({ ...range, from: rfc3339(from), to: rfc3339(to) })
    for (const { at, senderType, isUtterance, count } of rows)
      messages.push({ at, senderType, role: isUtterance ? roleOf(senderType) : 'event', count: Number(count) })
    await setImmediate()
  }
  return messages
}

async function readGroups(range: RollupRange): Promise<Row[]> {
  const { db, kind, project } = range
  const { rows } = await sql<Row>`
    select ${groupedTime(range, 'at')} as at, "senderType", "isUtterance", count(*) as count from (
      select ${epochSeconds(kind, 'created_at')} as at, sender_type as "senderType",
        coalesce(kind = 'utterance', false) as "isUtterance" from messages
      where project_id = ${project} and ${isWithin(range, 'created_at')} and deleted_at is null
    ) as timed group by 1, 2, 3`.execute(db)
  return rows
}
