/** The demo's write-backs: plain SQL that queues them, and the query of their outcomes. */
import type { Sandbox } from '../../sandbox/sandbox.ts'
import type { DemoQuery } from './queries.ts'

/** Replies to those who wait longest, then the flag: in this order, because both target the same conversation. */
export const enqueueStatements: readonly string[] = [
  `insert into writebacks (operation, conversation_id, payload)
select 'message', id, '{"content": "Thank you for waiting: it is solved.", "sender_name": "Robin"}'
from conversations where waiting_since is not null order by waiting_since limit 3`,
  `insert into writebacks (operation, conversation_id, payload)
select 'handled', conversation_id, '{"handled": true}' from writebacks where operation = 'message'`,
  `insert into writebacks (operation, visitor_id, payload)
select 'note', visitor_id, '{"content": "Waited long."}'
from conversations where waiting_since is not null order by waiting_since limit 1`,
]

/** The service performs the second reply, but the connection breaks before its response. */
export function dropOneAnswer({ scriptFault }: Sandbox): void {
  scriptFault({ kind: 'reset-after', operation: 'sendMessage', skip: 1 })
}

export const outcomeQuery: DemoQuery = {
  title: 'Their outcomes, in the order in which they were queued',
  sql: `select operation, substr(coalesce(conversation_id, visitor_id), 1, 8) || '…' as about, status, attempts as sent, step as why
from writebacks order by seq`,
}
