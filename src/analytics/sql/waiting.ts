/** Who waits for an answer now. Whatever says so, a page or a report, reads it here, as people do in `report_open`. */
import { sql } from 'kysely'
import { formatCount } from '../../values/format.ts'
import type { ProjectId } from '../../values/project.ts'

/** What follows `from`; more conditions may follow it. */
export const waitingNow = sql`report_open where waiting_since is not null`

/** Where the service's own field says otherwise, as a condition on the rows of `waitingNow`. */
const isOtherwise = sql`(service_waiting_since is null or service_waiting_since <> waiting_since)`

/**
 * In how many of the conversations that wait the service's `waitingSince` says otherwise, and how many more wait only by it:
 * its documentation does not say when it changes.
 */
export type ServiceDifference = { readonly otherwise: number; readonly onlyService: number }

export function serviceDifference(project: ProjectId) {
  return sql<ServiceDifference>`
    select (select count(*) from ${waitingNow} and project_id = ${project} and ${isOtherwise}) as otherwise,
      (select count(*) from conversations where project_id = ${project} and waiting_since is not null
        and handled_at is null and deleted_at is null and not exists (
          select 1 from fct_conversation f
          where f.project_id = ${project} and f.conversation_id = conversations.id and f.waiting_since is not null
        )) as "onlyService"`
}

/** In a sentence; null: the service agrees. */
export function describeDifference({ otherwise, onlyService }: ServiceDifference): string | null {
  if (otherwise + onlyService === 0) return null
  const parts = [
    ...(otherwise > 0 ? [`differs for ${formatCount(otherwise)} of these`] : []),
    ...(onlyService > 0 ? [`has ${formatCount(onlyService)} more`] : []),
  ]
  return `The service's own field waitingSince ${parts.join(' and ')}: when it changes is not documented.`
}
