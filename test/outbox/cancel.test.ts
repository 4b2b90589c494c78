/** Cancelling everything: large queues, and replies in flight. */

import { describe, expect, onTestFinished } from 'vitest'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { databases } from '../support/databases.ts'
import { createTestOnOne } from '../support/sampled.ts'
import { conversation, decideRows, insertFlag } from './batch-fixture.ts'
import { createOutboxFor, ids, replyLine, startIndependentDouble } from './independent-double.ts'

const testOnOne = createTestOnOne('postgres')

const project = '4275aaa4-dbe0-4a36-ae44-c66fe62af552'

/**
 * `rows` handled flags, each for its own conversation. Inserted without triggers, which is faster.
 */
async function createManyRows(
  database: 'sqlite' | 'postgres',
  rows: number,
  { of = project, status = 'queued' } = {},
) {
  const place = await databases.find(({ name }) => name === database)!.make()
  onTestFinished(() => place.drop())
  const warehouse = await place.open()
  const triggers =
    database === 'sqlite'
      ? await warehouse.query(`select name, sql from sqlite_master where type = 'trigger'`)
      : []
  for (const { name } of triggers) await warehouse.query(`drop trigger ${name}`)
  if (database === 'postgres') await warehouse.query('alter table writebacks disable trigger user')
  const numbers =
    database === 'sqlite'
      ? `with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${rows})`
      : `with numbers(n) as (select generate_series(1, ${rows}))`
  const target = `${database === 'sqlite' ? `printf('%08x', n)` : `lpad(to_hex(n), 8, '0')`} || '-5a2b-4c3d-8e9f-0a1b2c3d4e5f'`
  await warehouse.query(`${numbers} insert into writebacks
    (project_id, operation, conversation_id, payload, batch_id, seq, lane, ref, status)
    select '${of}', 'handled', ${target}, '{"handled": true}', 'big', n, 'conversation/' || ${target}, 'r' || n, '${status}'
    from numbers`)
  await warehouse.query(`insert into writeback_batches (project_id, id, rows, created_at)
    values ('${of}', 'big', ${rows}, '2026-01-01T00:00:00Z')`)
  for (const { sql } of triggers) await warehouse.query(String(sql))
  if (database === 'postgres') {
    await warehouse.query('alter table writebacks enable trigger user')
    await warehouse.query(`select setval('writebacks_seq', ${rows})`)
  }
  return {
    place,
    warehouse,
    admin: createOutbox(warehouse.projectDb(project)),
    outbox: createOutbox(warehouse.projectDb(project)),
  }
}

const isCancelling = 'select 1 from writeback_cancellations where finished_at is null'

for (const database of ['sqlite', 'postgres'] as const) {
  describe(`large queues — ${database}`, () => {
    testOnOne(
      database,
      'more rows than a statement may have parameters are cancelled at once, and none can be claimed',
      async () => {
        const rows = { sqlite: 33_000, postgres: 66_000 }[database]
        const { admin, outbox } = await createManyRows(database, rows)
        const report = await decideRows(admin, 'cancelled', {}, { by: 'ann' })
        expect(report).toMatchObject({ moved: rows, stayed: [] })
        expect(report.ids).toHaveLength(1000)
        expect(await admin.countByStatus({})).toEqual({ cancelled: rows })
        expect(await admin.list({ statuses: ['cancelled'] }, 1)).toMatchObject([
          { status: 'cancelled' },
        ])
        expect(await outbox.findClaimable(Date.now(), 1)).toEqual([])
      },
    )

    testOnOne(
      database,
      'drafts are approved and cancelled in windows of rows, and each change is in the event log',
      async () => {
        const { warehouse, admin, outbox } = await createManyRows(database, 5_000, {
          status: 'draft',
        })
        const approved = await decideRows(admin, 'approved', { batch: 'big' }, { by: 'ann' })
        expect(approved).toMatchObject({ moved: 5_000, stayed: [] })
        expect(approved.ids).toHaveLength(1000)
        expect(await decideRows(admin, 'cancelled', { batch: 'big' }, { by: 'ann' })).toMatchObject(
          {
            moved: 5_000,
            stayed: [],
          },
        )
        // Looking for work updates the covered rows and finds nothing to claim.
        while ((await warehouse.query(isCancelling)).length > 0)
          expect(await outbox.findClaimable(Date.now(), 1)).toEqual([])
        expect(
          await warehouse.query('select status, count(*) as rows from writebacks group by status'),
        ).toEqual([{ status: 'cancelled', rows: 5_000 }])
        const steps = `select detail, count(*) as rows, count(distinct seq) as places from writeback_events
        group by detail order by detail`
        expect(await warehouse.query(steps)).toEqual([
          { detail: 'approved by ann', rows: 5_000, places: 5_000 },
          { detail: 'cancelled by ann', rows: 5_000, places: 5_000 },
        ])
      },
    )

    testOnOne(
      database,
      'a cancellation applies to covered rows that are not updated yet, and to no others',
      async () => {
        const { warehouse, admin, outbox } = await createManyRows(database, 3)
        const [first] = await outbox.findClaimable(Date.now(), 1)
        const claimed = await outbox.claim(first!.id, Date.now())
        // The state while covered rows are not updated yet.
        await warehouse.query(`insert into writeback_cancellations
        (project_id, id, includes_rows_without_project, up_to, done_to, cancelled_at, cancelled_by)
        values ('${project}', 'x', 0, 3, 0, '2026-01-01T00:00:00Z', 'ann')`)
        expect(await outbox.markSending(claimed!, {}, Date.now(), Date.now())).toBe(false)
        await warehouse.query(`insert into writebacks (project_id, operation, conversation_id, payload)
        values ('${project}', 'handled', '7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f', '{"handled": true}')`)
        expect(await admin.countByStatus({})).toEqual({ cancelled: 3, queued: 1 })
        expect(await admin.list({ statuses: ['queued'] }, 9)).toHaveLength(1)
        await decideRows(admin, 'retried', { statuses: ['cancelled'] }, { by: 'bea' })
        expect(await admin.countByStatus({})).toEqual({ queued: 4 })
        expect(await outbox.findClaimable(Date.now(), 9)).toHaveLength(4)
      },
    )

    testOnOne(
      database,
      'when everything is cancelled, each concurrent send is either recorded before or rejected',
      async () => {
        const { place, admin, outbox } = await createManyRows(database, 120)
        const claimed = []
        for (const { id } of await outbox.findClaimable(Date.now(), 120))
          claimed.push((await outbox.claim(id, Date.now()))!)
        const person = createOutbox((await place.open()).projectDb(project))
        const leaving = claimed.map((writeback) =>
          outbox.markSending(writeback, {}, Date.now(), Date.now()),
        )
        await leaving[0]
        const { moved } = await decideRows(person, 'cancelled', {}, { by: 'ann' })
        const left = (await Promise.all(leaving)).filter(Boolean).length
        expect(moved).toBe(120 - left)
        expect(await admin.countByStatus({})).toEqual({
          sending: left,
          ...(moved > 0 ? { cancelled: moved } : {}),
        })
      },
    )

    testOnOne(
      database,
      'a cancellation covers drafts, one batch, and rows without a project; later rows stay',
      async () => {
        const { warehouse, admin } = await createManyRows(database, 2, { of: '' })
        expect(
          await admin.decide('cancelled', { orWithoutProject: true }, { by: 'ann' }),
        ).toMatchObject({ count: 2 })
        await warehouse.query(`update writebacks set project_id = '${project}'`)
        const more = (batch: string, status: string) =>
          warehouse.query(`insert into writebacks (project_id, operation, conversation_id, payload, batch_id, status)
          values ('${project}', 'handled', '7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f', '{"handled": true}', '${batch}', '${status}')`)
        await more('other', 'queued')
        await more('other', 'draft')
        await more('big', 'queued')
        expect(
          await decideRows(admin, 'cancelled', { batch: 'other' }, { by: 'ann' }),
        ).toMatchObject({ moved: 2 })
        expect(await admin.countByStatus({})).toEqual({ cancelled: 4, queued: 1 })
      },
    )

    testOnOne(
      database,
      'what was cancelled before is counted, also if rows without a project are cancelled now',
      async () => {
        const { warehouse, admin } = await createManyRows(database, 3)
        await decideRows(admin, 'cancelled', {}, { by: 'ann' })
        for (const n of [1, 2])
          await insertFlag(warehouse, {
            project_id: '',
            conversation_id: conversation(n),
            ref: `without ${n}`,
          })
        expect(
          await decideRows(admin, 'cancelled', { orWithoutProject: true }, { by: 'ann' }),
        ).toMatchObject({
          moved: 2,
          stayed: [{ status: 'cancelled', count: 3 }],
        })
      },
    )
  })
}

/** A reply that was sent without a response. */
async function createInFlight(database: 'sqlite' | 'postgres', arrives: boolean) {
  const service = await startIndependentDouble({
    write: (_path, _body, perform) => {
      if (arrives) perform()
      return { cut: true }
    },
  })
  const o = await createOutboxFor(service, database)
  const [id] = await o.queue(replyLine('Once.'))
  const outbox = createOutbox(o.warehouse.projectDb(ids.project))
  const claimed = await outbox.claim(id!, Date.now())
  await outbox.markSending(claimed!, { before: { ids: ['1'] } }, Date.now(), Date.now())
  if (arrives) service.say({ senderType: 'agent', content: 'Once.', name: 'Ann' })
  await outbox.settleSent(claimed!, {
    event: 'no_response',
    why: 'silence',
    evidence: { sender: 'ended' },
  })
  return { ...o, id: id!, service, outbox }
}

type InFlight = Awaited<ReturnType<typeof createInFlight>>

const revocationCases: readonly (readonly [
  string,
  'cancelled' | 'expired',
  (o: InFlight) => Promise<unknown>,
])[] = [
  [
    'cancelled by its id',
    'cancelled',
    (o) => decideRows(o.admin, 'cancelled', { ids: [o.id] }, { by: 'ann' }),
  ],
  [
    'cancelled with all others',
    'cancelled',
    (o) => decideRows(o.admin, 'cancelled', {}, { by: 'ann' }),
  ],
  [
    'cancelled by plain SQL',
    'cancelled',
    (o) => o.warehouse.query(`update writebacks set status = 'cancelled'`),
  ],
  [
    'expired by plain SQL',
    'expired',
    (o) => o.warehouse.query(`update writebacks set status = 'expired'`),
  ],
  [
    'made read-only',
    'cancelled',
    (o) => expect(o.push({ readOnly: true })).rejects.toMatchObject({ exitCode: 2 }),
  ],
  [
    'expired',
    'expired',
    (o) => o.warehouse.query(`update writebacks set expires_at = '2026-01-01T00:00:00Z'`),
  ],
]

for (const database of ['sqlite', 'postgres'] as const) {
  for (const [how, becomes, stop] of revocationCases) {
    testOnOne(
      database,
      `a reply that is ${how} before verification is never sent again (${database})`,
      async () => {
        const o = await createInFlight(database, false)
        await stop(o)
        expect(await o.statuses()).toEqual(['sending'])
        await o.push()
        expect(await o.statuses()).toEqual([becomes])
        expect(o.service.writes()).toBe(0)
      },
    )
  }

  testOnOne(
    database,
    `a reply cancelled in flight that is found has succeeded (${database})`,
    async () => {
      const o = await createInFlight(database, true)
      const { moved, stayed } = await decideRows(o.admin, 'cancelled', {}, { by: 'ann' })
      expect({ moved, stayed }).toMatchObject({
        moved: 0,
        stayed: [{ status: 'sending', count: 1 }],
      })
      await o.push()
      expect(await o.statuses()).toEqual(['succeeded'])
      const entries = (await o.admin.listEvents(o.id)).map(({ to, detail }) => `${to} ${detail}`)
      expect(entries).toContain('sending cancelled by ann')
    },
  )

  testOnOne(
    database,
    `an outcome reported after the cancellation is stored and queues nothing (${database})`,
    async () => {
      const service = await startIndependentDouble()
      for (const [event, becomes] of [
        ['accepted', 'succeeded'],
        ['not_sent', 'cancelled'],
        ['no_response', 'sending'],
      ] as const) {
        const o = await createOutboxFor(service, database)
        const [id] = await o.queue(replyLine('Once.'))
        const outbox = createOutbox(o.warehouse.projectDb(ids.project))
        const claimed = await outbox.claim(id!, Date.now())
        await outbox.markSending(claimed!, {}, Date.now(), Date.now())
        await decideRows(o.admin, 'cancelled', {}, { by: 'ann' })
        expect(await outbox.settleSent(claimed!, { event, why: 'as it came' })).toBe(becomes)
      }
    },
  )

  testOnOne(
    database,
    `a write-back that expired after its check is not sent (${database})`,
    async () => {
      const service = await startIndependentDouble()
      const o = await createOutboxFor(service, database)
      const [id] = await o.queue(replyLine('Too late.'))
      const outbox = createOutbox(o.warehouse.projectDb(ids.project))
      const claimed = await outbox.claim(id!, Date.now())
      const now = Date.now() + 60_000
      await o.warehouse.query(
        `update writebacks set expires_at = '${new Date(now).toISOString().slice(0, 19)}Z'`,
      )
      expect(await outbox.markSending(claimed!, {}, now, now)).toBe(false)
      expect(await outbox.markSending(claimed!, {}, now - 2000, now)).toBe(true)
    },
  )
}
