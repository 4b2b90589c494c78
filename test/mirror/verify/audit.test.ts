/**
 * Audits over a real mirror, on both databases: what they find, what they do not count, and what
 * they correct.
 */

import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { auditProject } from '../../../src/app/audit.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import { readStatus } from '../../../src/maintenance/sql/status-report.ts'
import { auditedStreams } from '../../../src/mirror/core/audit.ts'
import type { AuditReport } from '../../../src/mirror/core/reports.ts'
import { acquireStreamLocks } from '../../../src/mirror/sql/stream-locks.ts'
import { compareParent } from '../../../src/mirror/verify/compare-parent.ts'
import type { CompareDeps } from '../../../src/mirror/verify/read-rows.ts'
import type { Sandbox } from '../../../src/sandbox/sandbox.ts'
import { unlimitedPolicy } from '../../service/test-service.ts'
import { databases } from '../../support/databases.ts'
import { createTestOnOne } from '../../support/sampled.ts'
import { keepAll } from '../../support/stored-items.ts'
import { configOf, findDifferences, projectConfigOf } from '../sync/sync-sandbox.ts'
import { type SandboxContext, withSandbox } from '../sync/with-sandbox.ts'

const testOnOne = createTestOnOne()

const lists = { conversations: 20, visitors: 8, calls: 1, days: 3 }
const size = { ...lists, messagesPerConversation: [1, 4], activityPerVisitor: [0, 3] } as const
const world = { seed: 3, size } as const

/** `onWait`: another process holds the stream. */
type Over = {
  readonly sampleSize?: number
  readonly signal?: AbortSignal
  readonly onWait?: () => void
}

function audit(
  { sandbox, url }: Pick<SandboxContext, 'sandbox' | 'url'>,
  over: Over = {},
): Promise<AuditReport> {
  const project = projectConfigOf(sandbox)
  const { onWait, sampleSize = 100, signal = new AbortController().signal } = over
  const log = pino(
    { level: 'info' },
    { write: (line) => void (line.includes('lock.awaited') && onWait?.()) },
  )
  return auditProject(configOf(url, project), project, {
    sampleSize,
    signal,
    onProgress: () => {},
    log,
  })
}

const counts = ({ audits }: AuditReport) =>
  audits.map(({ stream, compared, differing, gone, unreadable }) => [
    stream,
    compared,
    differing,
    gone,
    unreadable,
  ])

const conversationId = (sandbox: Sandbox, n: number) => [...sandbox.truth('conversations')][n]!.id!
const visitorId = (sandbox: Sandbox, n: number) => [...sandbox.truth('visitors')][n]!.id!

describe('an audit', () => {
  test('finds nothing in a mirror that is right, and says so for every row', async () => {
    await withSandbox(world, async (context) => {
      await context.sync()
      const report = await audit(context)
      expect(counts(report)).toEqual([
        ['conversations', 20, 0, 0, 0],
        ['visitors', 8, 0, 0, 0],
      ])
      expect(report.estimates.map(({ words }) => words)).toEqual([
        'none of the 20 conversations differed from the service',
        'none of the 8 visitors differed from the service',
      ])
      const status = await readStatus(
        context.warehouse.projectDb(context.sandbox.projectId),
        Date.now(),
        unlimitedPolicy,
      )
      expect(status.audits).toEqual(report.estimates)
    })
  })

  const title =
    'finds rows of the mirror that are wrong or missing, corrects them, and keeps counting them'
  for (const db of databases)
    testOnOne(db.name, `${title} — ${db.name}`, async () => {
      await withSandbox({ ...world, db }, async (context) => {
        const { sandbox, warehouse, sync } = context
        await sync()
        const [a, b, c] = handledLongAgo(sandbox)
        await corrupt(warehouse, 'conversations', `id = '${a}'`, 'origin')
        await corrupt(
          warehouse,
          'messages',
          `conversation_id = '${b}' and id = (${firstMessage(b!)})`,
          'content',
        )
        await warehouse.query(
          `delete from messages where conversation_id = '${c}' and id = (${firstMessage(c!)})`,
        )
        const [entry] = await warehouse.query(
          'select visitor_id from visitor_activity order by entry_hash limit 1',
        )
        await warehouse.query(
          `delete from visitor_activity where visitor_id = '${entry?.visitor_id}'`,
        )
        const report = await audit(context)
        expect(counts(report)).toEqual([
          ['conversations', 20, 3, 0, 0],
          ['visitors', 8, 1, 0, 0],
        ])
        const found = report.differences.map(
          ({ stream, kind, fields }) => `${stream}: ${kind} ${fields.join()}`,
        )
        expect(new Set(found)).toEqual(
          new Set([
            'conversations: different origin',
            'messages: different content',
            'messages: missing here ',
            'visitor_activity: missing here ',
          ]),
        )
        expect(report.audits.map(({ corrected }) => corrected)).toEqual([3, 1])
        expect(await findDifferences(warehouse, sandbox)).toEqual([])
        // A sample, because a whole comparison that finds nothing would replace it.
        const next = await audit(context, { sampleSize: 5 })
        expect(counts(next)).toEqual([
          ['conversations', 5, 0, 0, 0],
          ['visitors', 5, 0, 0, 0],
        ])
        expect(next.estimates).toMatchObject([
          { stream: 'conversations', sampled: 25, differing: 3, isExact: false },
          { stream: 'visitors', sampled: 13, differing: 1, isExact: false },
        ])
      })
    })

  const columnsTitle = 'finds and corrects columns that say something else than their row'
  for (const db of databases)
    testOnOne(db.name, `${columnsTitle} — ${db.name}`, async () => {
      await withSandbox({ ...world, db }, async (context) => {
        const { sandbox, warehouse, sync } = context
        await sync()
        const [old] = handledLongAgo(sandbox)
        const [field] = await warehouse.query(
          `select column_name as name from discovered_fields where stream = 'visitor_activity' and type = 'text' limit 1`,
        )
        const entry = '(select min(entry_hash) from visitor_activity)'
        await warehouse.query(`update conversations set origin = 'wrong' where id = '${old}'`)
        await warehouse.query(
          `update visitor_activity set "${field!.name}" = 'wrong' where entry_hash = ${entry}`,
        )
        const report = await audit(context)
        expect(
          report.differences.map(
            ({ stream, kind, fields }) => `${stream}: ${kind} ${fields.join()}`,
          ),
        ).toEqual([
          'conversations: different column origin',
          `visitor_activity: different column ${field!.name}`,
        ])
        expect(report.audits.map(({ differing, corrected }) => [differing, corrected])).toEqual([
          [1, 1],
          [1, 1],
        ])
        const wrong = await warehouse.query(`select origin from conversations where origin = 'wrong'
        union all select "${field!.name}" from visitor_activity where "${field!.name}" = 'wrong'`)
        expect(wrong).toEqual([])
        expect((await audit(context)).differences).toEqual([])
      })
    })

  test('does not count what the service changed after the last sync, and counts what no incremental sync shows', async () => {
    await withSandbox(world, async (context) => {
      const { sandbox, warehouse, sync } = context
      await sync()
      for (const n of [3, 4]) sandbox.mutate.visitorWrites(conversationId(sandbox, n))
      sandbox.mutate.addActivity(visitorId(sandbox, 2))
      sandbox.mutate.addConversation()
      // It changes nothing that a list shows.
      sandbox.mutate.editMessage(conversationId(sandbox, 7), 0, 'Something else.')
      const report = await audit(context)
      expect(counts(report)).toEqual([
        ['conversations', 20, 1, 0, 0],
        ['visitors', 8, 0, 0, 0],
      ])
      expect(report.differences).toMatchObject([
        { stream: 'messages', kind: 'different', fields: ['content'] },
      ])
      expect(
        await findDifferences(warehouse, sandbox, undefined, ['conversations', 'messages']),
      ).toEqual([])
    })
  })

  test('that is interrupted stores nothing, and the next one draws again', async () => {
    await withSandbox({ ...world, size: { ...size, conversations: 40 } }, async (context) => {
      const { sandbox, warehouse, sync } = context
      await sync()
      await corrupt(warehouse, 'conversations', `id = '${handledLongAgo(sandbox)[0]}'`, 'origin')
      const stop = new AbortController()
      const requests = sandbox.log().length
      const timer = setInterval(() => sandbox.log().length > requests + 20 && stop.abort(), 1)
      const interrupted = await audit(context, { sampleSize: 40, signal: stop.signal }).finally(
        () => clearInterval(timer),
      )
      expect(interrupted).toMatchObject({ outcome: 'interrupted', audits: [], differences: [] })
      expect(await warehouse.query('select * from sync_audits')).toEqual([])
      const report = await audit(context, { sampleSize: 40 })
      expect(counts(report)[0]).toEqual(['conversations', 40, 1, 0, 0])
    })
  })

  test('waits for the sync that reads the stream, and can be interrupted meanwhile', async () => {
    await withSandbox(world, async (context) => {
      const { sandbox, warehouse, sync } = context
      await sync()
      sandbox.mutate.visitorWrites(conversationId(sandbox, 3))
      const lock = await acquireStreamLocks(
        warehouse.projectDb(sandbox.projectId),
        ['messages'],
        Date.now(),
      )
      const stop = new AbortController()
      const interrupted = audit(context, { signal: stop.signal, onWait: () => stop.abort() })
      expect(await interrupted).toMatchObject({ outcome: 'interrupted', audits: [] })
      const release = () => void (lock.held && lock.release())
      expect(counts(await audit(context, { onWait: release }))[0]).toEqual([
        'conversations',
        20,
        0,
        0,
        0,
      ])
    })
  })
})

test('rows that the service has deleted are marked, and do not count as differing', async () => {
  await withSandbox(world, async (context) => {
    const { sandbox, warehouse, sync } = context
    await sync()
    sandbox.mutate.deleteConversation(conversationId(sandbox, 5))
    expect(counts(await audit(context))[0]).toEqual(['conversations', 19, 0, 1, 0])
    expect(
      await warehouse.query('select count(*) as n from conversations where deleted_at is not null'),
    ).toMatchObject([{ n: 1 }])
  })
})

test('rows that were marked as deleted are drawn, too, and restored if the service still has them', async () => {
  await withSandbox(world, async (context) => {
    const { sandbox, warehouse, sync } = context
    await sync()
    sandbox.mutate.deleteConversation(conversationId(sandbox, 5))
    await sync({ mode: 'reconcile' })
    const gone = '2026-01-01T00:00:00Z'
    const some =
      '(select id from conversations where deleted_at is null and handled_at is not null order by id limit 4)'
    await warehouse.query(
      `update message_rows set deleted_at = '${gone}' where conversation_id in ${some}`,
    )
    await warehouse.query(`update conversations set deleted_at = '${gone}' where id in ${some}`)
    const report = await audit(context)
    expect(counts(report)[0]).toEqual(['conversations', 20, 4, 0, 0])
    expect(new Set(report.differences.map(({ kind }) => kind))).toEqual(new Set(['missing here']))
    await sync()
    expect(await findDifferences(warehouse, sandbox)).toEqual([])
    expect(counts(await audit(context))[0]).toEqual(['conversations', 20, 0, 0, 0])
  })
})

test('fields that a read by id shows otherwise than the list are learned, and both copies no longer replace each other', async () => {
  await withSandbox({ ...world, switches: { 'single.shape': 'other' } }, async (context) => {
    const { sandbox, warehouse, sync } = context
    const learned = () =>
      warehouse.query(`select name, value from service_behaviours where name like '%.fields_by_id'`)
    await sync()
    expect(counts(await audit(context)).map(([, , differing]) => differing)).toEqual([20, 8])
    await sync({ mode: 'reconcile' })
    expect(counts(await audit(context)).map(([, , differing]) => differing)).toEqual([0, 0])
    expect(await learned()).toEqual([
      { name: 'conversations.fields_by_id', value: '["status"]' },
      { name: 'visitors.fields_by_id', value: '["customFields","pageViews"]' },
    ])
    const changes = () =>
      warehouse.query('select field, old_value, new_value from conversation_changes')
    const before = (await changes()).length
    sandbox.mutate.setHandled(handledLongAgo(sandbox)[0]!, false)
    const { streams } = await sync({ mode: 'reconcile' })
    await audit(context)
    expect(streams.map(({ stream, changed }) => [stream, changed])).toContainEqual([
      'conversations',
      1,
    ])
    expect(streams.map(({ stream, changed }) => [stream, changed])).toContainEqual(['visitors', 0])
    expect((await changes()).length).toBe(before + 1)
    sandbox.setSwitches({ 'single.shape': 'same' })
    await sync({ mode: 'reconcile' })
    await audit(context)
    expect(await learned()).toMatchObject([{ value: '[]' }, { value: '[]' }])
  })
})

test('a mirror that has never been read to its end is not audited', async () => {
  await withSandbox(world, async (context) => {
    await context.sync({ streams: ['conversations'] })
    const report = await audit(context)
    expect(report.audits).toEqual([])
    expect(report.notices).toHaveLength(auditedStreams.length)
  })
})

test('every request of a comparison has the lowest priority', async () => {
  const asked: string[] = []
  const response = {
    status: 200,
    requestId: null,
    serverDate: null,
    cursorLimit: 0,
    requestedAt: 0,
  }
  const deps: CompareDeps = {
    projectId: 'p',
    streams: new Set(['conversations', 'messages']),
    startDate: null,
    get: keepAll(async (path, _query, priority) => {
      asked.push(`${priority} ${path}`)
      return {
        ...response,
        data: path.endsWith('/messages') ? { items: [], hasMore: false } : { id: 'c' },
      }
    }),
    mirror: {
      readRawById: async () => new Map([['c', '{"id":"c"}']]),
      readRows: async () => [],
      readBehaviours: async () => new Map(),
      findWrongColumns: async () => ({ last: null, wrong: [] }),
    },
    now: () => 0,
    signal: new AbortController().signal,
  }
  expect(await compareParent(deps, 'conversations', 'c')).toMatchObject({
    kind: 'compared',
    differences: [],
  })
  expect(asked).toEqual([
    'reconcile /public/conversations/c',
    'reconcile /public/conversations/c/messages',
  ])
})

test('nothing is written to the service', async () => {
  await withSandbox(world, async (context) => {
    await context.sync()
    const from = context.sandbox.log().length
    const { requests } = await audit(context, { sampleSize: 5 })
    const sent = context.sandbox.log().slice(from)
    expect(sent.every(({ method }) => method === 'GET')).toBe(true)
    expect(requests).toBe(sent.length)
  })
})

/** No incremental sync lists them again. */
const handledLongAgo = (sandbox: Sandbox) =>
  [...sandbox.truth('conversations')]
    .map(
      ({ row }) =>
        row as {
          readonly id: string
          readonly handledAt: string | null
          readonly lastMessageAt: string
        },
    )
    .filter(({ handledAt }) => handledAt !== null)
    .toSorted((x, y) => (x.lastMessageAt < y.lastMessageAt ? -1 : 1))
    .map(({ id }) => id)

const firstMessage = (conversation: string) =>
  `select min(id) from messages where conversation_id = '${conversation}'`

async function corrupt(warehouse: Warehouse, table: string, where: string, field: string) {
  const raw =
    warehouse.kind === 'sqlite'
      ? `json_set(raw, '$.${field}', 'wrong')`
      : `jsonb_set(raw, '{${field}}', '"wrong"')`
  await warehouse.query(`update ${table} set raw = ${raw}, ${field} = 'wrong' where ${where}`)
}
