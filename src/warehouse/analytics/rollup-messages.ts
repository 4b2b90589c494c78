/** Reads messages as numbers of the service's rollups may count them: all of them in one pass, however many count them. */
import { type RawBuilder, sql } from 'kysely'
import type { RollupRows } from '../../core/analytics/rollup-events.ts'
import { createRoleOfSender } from '../../core/analytics/sender-roles.ts'
import type { EpochSeconds } from '../../core/time.ts'
import { groupedQuarter, groupedTime, type RollupRange } from './rollup-range.ts'
import { epochSeconds } from './sql-time.ts'

type RollupMessages = Pick<RollupRows, 'messages' | 'activeConversations' | 'lastMessages'>

type SenderRow = { readonly senderType: string | null; readonly isUtterance: unknown }

/** Messages of one sender type in a piece of a day. */
type Group = SenderRow & { readonly at: EpochSeconds } & (
    | { readonly conversation: null; readonly count: number }
    | {
        readonly conversation: string
        /** How many readings were made before these messages. */
        readonly readings: number
        readonly lastAt: EpochSeconds
      }
  )

export async function readRollupMessages(range: RollupRange): Promise<RollupMessages> {
  const { days, settings } = range
  const readTimes = [...new Set(days.windows.map(({ readAt }) => readAt))].sort((a, b) => a - b)
  const groups = await readGroups(range, readTimes)
  const roleOf = createRoleOfSender(settings.roles)
  const roleOfGroup = ({ senderType, isUtterance }: SenderRow) => (isUtterance ? roleOf(senderType) : 'event')
  const messages: RollupRows['messages'][number][] = []
  const activeConversations: RollupRows['activeConversations'][number][] = []
  const lastByConversation = new Map<string, EpochSeconds[]>()
  for (const group of groups) {
    const { at, conversation, senderType } = group
    const role = roleOfGroup(group)
    if (conversation === null) {
      messages.push({ at, senderType, role, count: Number(group.count) })
      continue
    }
    const { readings, lastAt } = group
    const last = lastByConversation.get(conversation) ?? []
    lastByConversation.set(conversation, last)
    last[readings] = Math.max(last[readings] ?? lastAt, lastAt)
    if (at < days.to) activeConversations.push({ at, conversation, role })
  }
  return { messages, activeConversations, lastMessages: [...lastMessages(lastByConversation)] }
}

/** Of the messages of a conversation between two readings, only the last one was the last one in some reading. */
function* lastMessages(
  lastByConversation: ReadonlyMap<string, readonly EpochSeconds[]>,
): Generator<RollupRows['lastMessages'][number]> {
  for (const [conversation, lastByReading] of lastByConversation) {
    // It has an element only where there were messages.
    const times = lastByReading.filter((at) => at !== undefined)
    for (const [index, at] of times.entries()) yield { conversation, at, until: times[index + 1] ?? null }
  }
}

/** The database reads the messages once, converts the time of each once, and returns what differs in some definition. */
async function readGroups(range: RollupRange, readTimes: readonly EpochSeconds[]): Promise<Group[]> {
  const { db, kind, project, from, days } = range
  const { rows } = await sql<Group>`
    with timed as materialized (
      select conversation_id as conversation, ${epochSeconds(kind, 'created_at')} as at, sender_type as "senderType",
        coalesce(kind = 'utterance', false) as "isUtterance" from messages
      where project_id = ${project} and created_at >= ${from} and deleted_at is null
    )
    select conversation, ${groupedTime(range, 'at')} as at, "senderType", "isUtterance",
      ${readingsBefore('at', readTimes)} as readings, max(at) as "lastAt", 0 as count
    from timed group by 1, 2, 3, 4, 5
    union all
    select null, ${groupedQuarter(range, 'at')}, "senderType", "isUtterance", 0, 0, count(*)
    from timed where at < ${sql.lit(days.to)} group by 2, 3, 4`.execute(db)
  return rows
}

/** How many of them, which are in order, were before the time in that column: by halves, as it is asked of every message. */
function readingsBefore(at: string, readTimes: readonly EpochSeconds[]): RawBuilder<number> {
  const count = (low: number, high: number): RawBuilder<number> => {
    if (low === high) return sql`${sql.lit(low)}`
    const middle = (low + high) >>> 1
    const reading = sql.lit(readTimes[middle] ?? 0)
    return sql`case when ${sql.ref(at)} <= ${reading} then ${count(low, middle)} else ${count(middle + 1, high)} end`
  }
  return count(0, readTimes.length)
}
