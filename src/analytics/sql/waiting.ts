/** Who waits for an answer now: pages and reports read it here. */
import { sql } from 'kysely'
import { formatCount } from '../../values/format.ts'
import type { ProjectId } from '../../values/project.ts'
import type { Seconds } from '../../values/time.ts'
import type { SnapshotReader } from '../../warehouse/transactions.ts'

/** What follows `from`; more conditions may follow it. */
export const waitingNow = sql`report_open where waiting_since is not null`
/** The same conversations, to be counted by their index alone: only open ones wait. */
export const waitingCounted = sql`fct_conversation where waiting_since is not null`

/** Now, whatever the period. */
export type OpenQueue = {
  readonly open: number
  readonly waiting: number
  /** Those who wait longest, at most `maxWaiting`. */
  readonly longest: readonly {
    readonly conversationId: string
    /** Or else the address; null: neither is known, or the settings leave them out. */
    readonly visitorName: string | null
    /** The assigned agent's id, or the name that most of their conversations end with. */
    readonly agent: string | null
    readonly waitingSince: string
    readonly waitingSeconds: Seconds
    /** Null: it does not wait by the service's own field. */
    readonly serviceWaitingSince: string | null
  }[]
}

const maxWaiting = 10

/** For `report`, which shows the open ones, too. */
export async function readOpenQueue(read: SnapshotReader, project: ProjectId): Promise<OpenQueue> {
  const [counts] = await read(sql<Pick<OpenQueue, 'open' | 'waiting'>>`
    select count(*) as open, count(waiting_since) as waiting from report_open
    where project_id = ${project}`)
  const longest = await read(sql<OpenQueue['longest'][number]>`
    select conversation_id as "conversationId",
      coalesce(nullif(trim(visitor_name), ''), nullif(trim(visitor_email), ''))
    as "visitorName",
      coalesce((select likely_name from dim_agent a where a.project_id = ${project}
      and a.agent_id = assigned_agent_id
        and a.name_share > 0.5), assigned_agent_id) as agent,
      waiting_since as "waitingSince", waiting_seconds as "waitingSeconds", service_waiting_since
      as "serviceWaitingSince"
    from ${waitingNow} and project_id = ${project}
    order by waiting_since, conversation_id limit ${sql.lit(maxWaiting)}`)
  return { ...(counts ?? { open: 0, waiting: 0 }), longest }
}

/** How many the service's `waitingSince` contradicts: it is not documented when it changes. */
export function serviceDifference(project: ProjectId) {
  return sql<Readonly<Record<'otherwise' | 'onlyService', number>>>`
    select (select count(*) from fct_conversation f
        join conversations c on c.project_id = f.project_id and c.id = f.conversation_id
        where f.project_id = ${project} and f.waiting_since is not null
          and f.waiting_since is distinct from c.waiting_since) as otherwise,
      (${countOnlyService(project)}) as "onlyService"`
}

export function countOnlyService(project: ProjectId) {
  return sql<{ readonly count: number }>`
    select count(*) as count from conversations where project_id = ${project}
    and waiting_since is not null
      and handled_at is null and deleted_at is null
      and id not in (select conversation_id from ${waitingCounted} and project_id = ${project})`
}

/** In a sentence; null: the service agrees. `among`: which waiting conversations were compared. */
export function describeDifference(
  { otherwise, onlyService }: Readonly<Record<'otherwise' | 'onlyService', number>>,
  among = 'the waiting conversations',
): string | null {
  const ours = `no or another time for ${formatCount(otherwise)} of ${among}`
  const others = `a time for ${formatCount(onlyService)} ${onlyService === 1 ? 'other' : 'others'}`
  const shown = [...(otherwise > 0 ? [ours] : []), ...(onlyService > 0 ? [others] : [])]
  if (shown.length === 0) return null
  return (
    `The service's own field waitingSince shows ${shown.join(' and ')}: when it changes is not ` +
    'documented, so who waits follows from the messages.'
  )
}
