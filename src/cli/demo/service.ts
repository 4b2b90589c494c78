/** What the demo shows: a small sandbox, changes, write-backs, and queries in SQL to copy. */

import type { Sandbox } from '../../sandbox/sandbox.ts'
import { rfc3339 } from '../../values/time.ts'

/** Small enough for a first sync in some seconds, and longer than the last two whole weeks. */
const size = {
  conversations: 80,
  visitors: 40,
  calls: 20,
  messagesPerConversation: [1, 20],
  activityPerVisitor: [0, 8],
  days: 24,
} as const

export async function startDemoService(now: number): Promise<Sandbox> {
  const { startSandbox } = await import('../../sandbox/sandbox.ts')
  return startSandbox({
    id: 'demo',
    seed: 2,
    size,
    now: rfc3339(Math.floor(now / 1000)),
    prefix: '/v1',
    switches: { content: 'plain' },
  })
}

export function applyDemoChanges({ mutate, truth }: Sandbox): readonly string[] {
  const visitors = [...truth('visitors')].flatMap(({ id }) => id ?? [])
  const [open, handled] = conversationIds(truth('conversations'))
  const newcomer = mutate.addVisitor({ name: 'Ada Lovelace', email: 'ada@example.com' })
  mutate.addConversation(newcomer.id, 'Can your engine also compose music?')
  mutate.addCall(newcomer.id)
  for (const id of handled.slice(0, 1)) mutate.visitorWrites(id, 'Is there an update?')
  for (const id of open.slice(0, 1)) mutate.agentReplies(id, 'It is on its way.', 'Robin')
  for (const id of open.slice(1, 2)) mutate.setHandled(id, true)
  for (const id of visitors.slice(0, 1))
    mutate.renameVisitor(id, 'Grace Hopper', 'grace@example.com')
  return [
    'a new visitor calls, and starts a conversation',
    'another one asks again in a conversation that was handled',
    'an agent replies in one conversation, and marks another one handled',
    'a visitor is renamed',
  ]
}

function conversationIds(
  rows: ReturnType<Sandbox['truth']>,
): readonly [readonly string[], readonly string[]] {
  const all = [...rows].map(({ id, row }) => ({
    id: id ?? '',
    isOpen: Object(row).handledAt === null,
  }))
  const ids = (isOpen: boolean) =>
    all.filter((conversation) => conversation.isOpen === isOpen).map(({ id }) => id)
  return [ids(true), ids(false)]
}

/**
 * For SQLite, and for fields that only the sandbox shows (`type`, `title`, `direction`,
 * `duration_seconds`).
 */
type DemoQuery = { readonly title: string; readonly sql: string }

const countedTables =
  'conversations messages visitors visitor_activity calls call_recordings ' +
  'analytics_rollups analytics_metrics availability_snapshots conversation_changes'

export const rowCountQuery: DemoQuery = {
  title: 'What is in the warehouse',
  sql: countedTables
    .split(' ')
    .map((table) => `select '${table}' as "table", count(*) as "rows" from ${table}`)
    .join('\nunion all '),
}

export const demoQueries: readonly DemoQuery[] = [
  {
    title: 'Who waits for an answer, and for how long',
    sql: `select visitor_name as name, waiting_since, round(waiting_seconds / 3600.0, 1) as hours
from report_open where waiting_since is not null
order by waiting_since limit 5`,
  },
  {
    title: 'Messages a day',
    sql: `select date(created_at) as day, count(*) as messages,
       sum(sender_type = 'agent') as by_agents, sum(sender_type = 'visitor') as by_visitors
from messages where kind = 'utterance' and deleted_at is null
group by day order by day desc limit 7`,
  },
  {
    title: 'Each day in one row, with the median wait for a human',
    sql: `select date, started, waits, ongoing_waits, round(human_answer_median_seconds / 60, 1) as median_minutes, handlings, open_at_end
from report_day order by date desc limit 7`,
  },
  {
    title: 'Everything that one visitor did',
    sql: `with who as (select visitor_id as id from visitor_activity group by 1 order by max(occurred_at) desc limit 1)
select occurred_at as at, type as what, title as detail
from visitor_activity where visitor_id in who and deleted_at is null
union all
select m.created_at, m.sender_type || ' wrote', m.content
from messages m join conversations c on c.id = m.conversation_id where c.visitor_id in who and m.deleted_at is null
order by at desc limit 8`,
  },
  {
    title: 'The latest calls, and whether they were recorded',
    sql: `select c.occurred_at, v.name, c.direction, c.duration_seconds as seconds,
       case r.has_recording when 1 then 'yes' else 'no' end as recorded
from calls c join call_recordings r on r.call_id = c.id left join visitors v on v.id = c.visitor_id
where c.deleted_at is null
order by c.occurred_at desc limit 5`,
  },
  {
    title: 'What changed between the two syncs (the service keeps no such history)',
    sql: `select substr(conversation_id, 1, 8) || '…' as conversation, field, old_value, new_value
from conversation_changes order by id limit 10`,
  },
  {
    title: 'Columns for undocumented fields, discovered on the way',
    sql: `select stream, path, column_name as "column", type
from discovered_fields order by stream, path limit 8`,
  },
]

/** Replies to those who wait longest, then the flag, as both target the same conversation. */
export const enqueueStatements: readonly string[] = [
  `insert into writebacks (operation, conversation_id, payload)
select 'message', conversation_id, '{"content": "Thank you for waiting: it is solved.", "sender_name": "Robin"}'
from report_open where waiting_since is not null order by waiting_since limit 3`,
  `insert into writebacks (operation, conversation_id, payload)
select 'handled', conversation_id, '{"handled": true}' from writebacks where operation = 'message'`,
  `insert into writebacks (operation, visitor_id, payload)
select 'note', visitor_id, '{"content": "Waited long."}'
from report_open where waiting_since is not null order by waiting_since limit 1`,
]

/** The service performs the second reply, but the connection breaks before its response. */
export function dropOneAnswer({ scriptFault }: Sandbox): void {
  scriptFault({ kind: 'reset-after', operation: 'sendMessage', skip: 1 })
}

export const outcomeQuery: DemoQuery = {
  title: 'Their outcomes, in the order in which they were queued',
  sql: `select operation, substr(coalesce(conversation_id, visitor_id), 1, 8) || '…' as about, status, attempts as sent, reason as why
from writebacks order by seq`,
}
