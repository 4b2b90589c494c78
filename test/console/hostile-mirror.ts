/**
 * A mirror whose every text tries to become something else, and the addresses of all screens that
 * show it.
 */
import { createProjectFacts } from '../../src/analytics/sql/project-facts.ts'
import { openMirror } from '../../src/app/facts.ts'
import type { Warehouse } from '../../src/app/open.ts'
import { periodTableNames } from '../../src/console/pages/render-period-page.ts'
import { addMinutes, recordPause } from '../../src/service/sql/request-counts.ts'
import { createAuditLog } from '../../src/warehouse/audit-log.ts'
import {
  activity,
  commit,
  conversation,
  message,
  timeAt,
  visitor,
} from '../warehouse/row-fixtures.ts'
import { queueDrafts, replyTo } from './queued-rows.ts'

const attacks = [
  '<img src=x onerror=alert(1)>',
  '"><script>alert(2)</script>',
  "'-alert(3)-'",
  '</textarea></title><svg/onload=alert(4)>',
  'javascript:alert(5)',
  '$' + '{alert(6)} {{alert(7)}}',
  '\u202Egnp.exe\u202C \u200Bzero\u200Bwidth',
  '&lt;b&gt;&#x3C;i&#x3E;',
  'Z\u0351\u036b\u0343a\u0302\u034al\u030ag\u0346o',
  `long${'\u00a0'.repeat(3)}${'x'.repeat(300)}`,
] as const
export const attack = attacks.join(' ')

/** `personal`: what customers said, and who they are. */
export async function fillHostile(
  warehouse: Warehouse,
  settings: Parameters<typeof createProjectFacts>[1],
  personal: string = attack,
) {
  const { query, db } = warehouse
  const main = openMirror(warehouse, 'main')
  await main.commit(
    commit('visitors', [
      visitor(
        'v1',
        { [attack.slice(0, 60)]: personal, link: 'javascript:alert(8)' },
        { name: personal, email: personal },
      ),
      visitor(known, {}, { name: personal, email: null }),
    ]),
  )
  const columns = {
    visitor_id: 'v1',
    waiting_since: timeAt(5),
    assigned_agent_id: attack,
    origin: attack,
  }
  await main.commit(
    commit('conversations', [
      conversation('c1', columns),
      conversation('c<2>"', columns),
      conversation(known, columns),
    ]),
  )
  await main.commit(commit('messages', [message(known, 1, { content: personal })]))
  await main.commit(
    commit(
      'messages',
      (personal === attack ? attacks : [personal]).map((content, n) =>
        message('c1', n + 1, { content, sender_type: 'visitor', sender_display_name: personal }),
      ),
    ),
  )
  await main.commit(
    commit('conversations', [conversation('c1', { ...columns, origin: `${attack} again` })]),
  )
  await main.commit(commit('visitor_activity', [activity('v1', 'h1', 0, { url: personal })]))
  await createProjectFacts(warehouse.projectDb('main'), settings).refresh()
  const text = `'${attack.replaceAll("'", "''")}'`
  await query(
    `insert into sync_gaps (project_id, id, stream, reason, found_at, seen_at, dedup_key)
      values ('main', 'g1', 'calls', ${text}, '${timeAt(1)}', 1, 's')`,
  )
  await query(
    `insert into sync_children (project_id, stream, parent_id, requested_version, read_version, attempts, error)
      values ('main', 'messages', ${text}, 1, 0, 1, ${text})`,
  )
  await query(
    `insert into sync_streams (project_id, stream, synced_at, failed, failed_since, skipped) values ('main', 'calls', '${timeAt(1)}', ${text}, '${timeAt(1)}', null), ('main', 'conversations', '${timeAt(1)}', null, null, ${text})`,
  )
  const report = JSON.stringify([
    { stream: attack, requests: 1, rows: 1, changed: 1, tookMs: 1, skipped: null, failed: attack },
  ])
  await query(
    `insert into sync_runs (project_id, id, mode, started_at, finished_at, outcome, requests, rows_read, rows_changed, strings_escaped, beat_at, streams) values ('main', 'r1', 'full', '${timeAt(1)}', '${timeAt(2)}', 'failed', 1, 1, 1, 0, 0, '${report.replaceAll("'", "''")}')`,
  )
  await query(
    `insert into service_behaviours (project_id, name, value, evidence, learned_at) values ('main', ${text}, ${text}, ${text}, '${timeAt(1)}')`,
  )
  await queueHostile(warehouse, personal)
  await createAuditLog(db).append(
    {
      project: attack,
      person: attack,
      role: attack,
      action: attack,
      subject: attack,
      count: 1,
      detail: attack,
    },
    Date.now(),
  )
  const minute = Math.floor(Date.now() / 60_000) * 60_000
  await addMinutes(db, [{ project: 'main', minute, priority: 'fresh', requests: 90, throttled: 1 }])
  await recordPause(db, 'main', { kind: 'throttled', from: minute - 60_000, to: minute })
}

/** A batch whose every text is hostile, and a write-back of each kind that a person may look at. */
async function queueHostile(warehouse: Warehouse, personal: string): Promise<void> {
  const { query } = warehouse
  const words = replyTo(known, personal)
  const reply = { ...words, payload: { ...words.payload, sender_name: attack.slice(0, 60) } }
  const payload = { name: `${personal.slice(0, 50)}!` }
  const correction = { ...words, operation: 'visitor', payload } as const
  const batch = { title: attack, source: attack, note: attack, reverts: null }
  const rows = [reply, correction, reply, reply]
  await queueDrafts(warehouse, hostileBatch, rows, { createdBy: attack, batch })
  const text = `'${attack.replaceAll("'", "''")}'`
  await query(
    `update writebacks set found_by = '${personal.replaceAll("'", "''")}',
      evidence = '{"candidates":["1"]}'`,
  )
  const nth = (n: number) =>
    `(select id from writebacks where batch_id = '${hostileBatch}' order by seq limit 1 offset ${n})`
  await query(
    `update writebacks set status = 'uncertain', reason = ${text}, sent_at = '${timeAt(1)}' where id = ${nth(2)}`,
  )
  await query(
    `update writebacks set status = 'failed', error = ${text}, finished_at = '${timeAt(2)}' where id = ${nth(3)}`,
  )
}

const hostileBatch = 'b1'
/** A write-back names a conversation and a visitor by ids like this. */
const known = 'c0000000-0000-4000-8000-000000000001'
const main = '/console/p/main'
export const screens: readonly string[] = [
  ...[
    main,
    `${main}/open`,
    `${main}/waits?from=2026-01-01&to=2026-01-31`,
    `${main}/waiting`,
    `${main}/search?q=alert`,
    `${main}/search?q=c00000`,
    `${main}/conversations/c1`,
  ],
  ...[
    `${main}/conversations/${encodeURIComponent('c<2>"')}`,
    `${main}/visitors/v1`,
    `${main}/conversations/${known}/visitor`,
    `${main}/visitors/${known}?correct=yes`,
    `${main}/charts?over=365+days`,
  ],
  ...[
    `${main}/streams`,
    `${main}/streams/calls`,
    `${main}/budget`,
    `${main}/runs`,
    `${main}/runs/r1`,
    `${main}/schema`,
  ],
  ...[`${main}/report`, `${main}/conversations?of=ai&from=2020-01-01&to=2020-12-31`],
  ...periodTableNames.map((name) => `${main}/${name}?from=2026-01-01&to=2026-01-03`),
  ...[`${main}/service`, '/console/projects', '/console/log'],
  ...[
    `${main}/writebacks`,
    `${main}/writebacks?status=uncertain`,
    `${main}/batches/b1`,
    `${main}/import`,
  ],
  ...[`${main}/batches/b1?status=failed`, `${main}/confirm?decision=approve&batch=b1`],
]
