/**
 * Services that differ from the sandbox as far as the documentation allows: nothing arrives twice
 * or gets stuck.
 */

import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { revertLane } from '../../src/outbox/core/revert.ts'
import { evaluateCircuits } from '../../src/outbox/send/circuit-breaker.ts'
import { sendOne } from '../../src/outbox/send/lane.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { ApiError } from '../../src/service/core/api-failure.ts'
import type { Json } from '../../src/values/json.ts'
import { noColumnRules } from '../../src/values/private-columns.ts'
import { createTestOnOne, sampled } from '../support/sampled.ts'
import { waitFor } from '../support/wait.ts'
import {
  createOutboxFor,
  handledLine,
  ids,
  replyLine,
  startIndependentDouble,
} from './independent-double.ts'
import { toRequest } from './outbox-fixture.ts'

const testOnOne = createTestOnOne()

/** The first write is carried out, and its response is lost. */
const firstAnswerLost = (_path: string, _body: unknown, perform: () => void, nth: number) => {
  if (nth > 1) return null
  perform()
  return { cut: true } as const
}

describe('a reply whose response was lost is sent once', () => {
  const senderTypes = ['agent', 'human', 'api', 'user', 'visitor']
  for (const senderType of sampled(senderTypes, (type) => /agent|visitor/.test(type))) {
    test(`with the sender type ${senderType}`, async () => {
      const service = await startIndependentDouble({
        replySenderType: senderType,
        write: firstAnswerLost,
      })
      const o = await createOutboxFor(service)
      await o.queue(replyLine('Once.'))
      await o.push()
      expect(service.done()).toHaveLength(1)
      expect(await o.statuses()).toEqual(['succeeded'])
    })
  }

  test('if it is not shown as an utterance', async () => {
    const service = await startIndependentDouble({
      replyKind: 'api_message',
      write: firstAnswerLost,
    })
    const o = await createOutboxFor(service)
    await o.queue(replyLine('Once.'))
    await o.push()
    expect(service.done()).toHaveLength(1)
  })

  test('if conversations and messages have different clocks', async () => {
    const service = await startIndependentDouble({ aheadMs: 3_600_000, write: firstAnswerLost })
    const o = await createOutboxFor(service)
    await o.queue(replyLine('Once.'))
    await o.push()
    expect(service.done()).toHaveLength(1)
    expect(await o.statuses()).toEqual(['succeeded'])
  })

  test('if only some texts are shown unchanged', async () => {
    const service = await startIndependentDouble({
      storedText: (content) => content.replaceAll('&', '&amp;'),
      write: (_path, body, perform) => {
        if (!String(body.content).includes('&')) return null
        perform()
        return { cut: true }
      },
    })
    const o = await createOutboxFor(service)
    await o.queue(replyLine('Thanks.'), replyLine('Terms & conditions.'))
    await o.push()
    expect(service.done()).toHaveLength(2)
    expect(await o.statuses()).toEqual(['succeeded', 'uncertain'])
  })
})

for (const [how, sent, quirks] of [
  [
    'without tags',
    'Hello<br>World',
    { storedText: () => 'HelloWorld', shownName: () => 'Support' },
  ],
  ['shortened', '您的订单已发货', { storedText: () => '您的订单…', shownName: () => 'Support' }],
  ['with another text', 'Call 555-0199.', { storedText: () => '[removed]' }],
] as const) {
  test(`a reply whose response was lost and which is shown ${how} is not resent automatically`, async () => {
    const service = await startIndependentDouble({ ...quirks, write: firstAnswerLost })
    const o = await createOutboxFor(service)
    await o.queue(replyLine(sent))
    await o.push()
    expect(service.done()).toHaveLength(1)
    expect(await o.statuses()).toEqual(['uncertain'])
  })
}

/** Of an answer; it need not be that of the message. */
const withId = (id: number) => ({ status: 200, text: JSON.stringify({ data: { id } }) })

test.for([
  ['Thanks!', {}],
  ['Thanks! ', {}],
  ['Thanks!\n', {}],
  ['Thanks!', withId(77)],
] as const)(
  'a reply that did not arrive is not matched to an earlier reply with its words that shows late: %j %j',
  async ([words, answer]) => {
    const service = await startIndependentDouble({
      lagMs: 700,
      write: (_path, _body, perform, nth) => {
        if (nth === 2) return { cut: true }
        perform()
        return answer
      },
    })
    const o = await createOutboxFor(service)
    await o.queue(replyLine(words), replyLine('Thanks!'))
    await o.push({ verifyAfterMs: 900 })
    const succeeded = (await o.statuses()).filter((status) => status === 'succeeded')
    expect(service.done().length).toBeGreaterThanOrEqual(succeeded.length)
  },
)

test.for([
  ['no id', {}],
  ['an id that is no message', withId(77)],
] as const)(
  'replies with the same words that were queued on purpose are all sent, though each shows late and its answer has %s',
  async ([, answer]) => {
    const late: (() => void)[] = []
    const service = await startIndependentDouble({
      write: (_path, _body, perform) => {
        late.push(perform)
        return answer
      },
      // Once the read after the send has not shown it.
      onListed: (nth) => void (nth % 2 === 0 && late.shift()?.()),
    })
    const o = await createOutboxFor(service)
    await o.queue(replyLine('Are you still there?'), replyLine('Are you still there?'))
    await o.push()
    expect(await o.statuses()).toEqual(['succeeded', 'succeeded'])
    service.say({ senderType: 'agent', content: 'Are you still there?', name: 'Ann' })
    await o.queue(replyLine('Are you still there?'))
    await o.push()
    expect(await o.statuses()).toEqual(['succeeded', 'succeeded', 'conflict'])
  },
)

for (const senderType of ['human', 'api']) {
  test(`our own reply is not taken for a visitor's message, with the sender type ${senderType}`, async () => {
    const service = await startIndependentDouble({ replySenderType: senderType })
    const o = await createOutboxFor(service)
    await o.queue(replyLine('Solved.'), handledLine)
    await o.warehouse.query(
      `update writebacks set created_at = '2026-01-01T00:00:00Z', target_snapshot = null`,
    )
    service.say({ senderType: 'agent', content: 'Before.', name: 'Bo' })
    await o.warehouse.query(`update writebacks set expect = '2' where operation = 'handled'`)
    await o.push()
    expect(await o.statuses()).toEqual(['succeeded', 'succeeded'])
  })
}

test('a conversation without a message when it was seen is not handled once a visitor has written', async () => {
  const service = await startIndependentDouble()
  const o = await createOutboxFor(service)
  await o.queue(handledLine)
  await o.warehouse.query(`update writebacks set target_snapshot = '{"lastMessageAt":null}'`)
  await o.push()
  expect(await o.statuses()).toEqual(['conflict'])
  expect(service.done()).toEqual([])
})

test('a write-back that a gateway blocks fails, and the others continue', async () => {
  const service = await startIndependentDouble({
    write: (_path, body) =>
      String(body.content).includes('<script>')
        ? { status: 403, text: '<html>Blocked</html>' }
        : null,
  })
  const o = await createOutboxFor(service)
  await o.queue(replyLine('<script>'), replyLine('Fine.'))
  await o.push()
  expect(await o.statuses()).toEqual(['failed', 'succeeded'])
})

test('a 303 after a reply does not mean that it was not sent', async () => {
  const service = await startIndependentDouble({
    write: (_path, _body, perform) => {
      perform()
      return { status: 303, text: '' }
    },
  })
  const o = await createOutboxFor(service)
  await o.queue(replyLine('Once.'))
  await o.push()
  expect(await o.statuses()).toEqual(['succeeded'])
  expect(service.done()).toHaveLength(1)
})

for (const database of ['sqlite', 'postgres'] as const) {
  testOnOne(
    database,
    `a visitor with characters that a database cannot store is corrected (${database})`,
    async () => {
      const service = await startIndependentDouble()
      service.visitor.email = 'a\u0000b\ud83d'
      const o = await createOutboxFor(service, database)
      await o.queue({ operation: 'visitor', visitor_id: ids.visitor, name: 'Ada' })
      await o.push()
      expect(await o.statuses()).toEqual(['succeeded'])
      expect(service.visitor).toEqual({ name: 'Ada', email: 'a\u0000b\ud83d' })
    },
  )

  testOnOne(
    database,
    `a refusal truncated within a character is stored (${database})`,
    async () => {
      const message = '🙂'.repeat(400)
      const text = JSON.stringify({ error: { code: 'VALIDATION_ERROR', message, status: 400 } })
      const service = await startIndependentDouble({ write: () => ({ status: 400, text }) })
      const o = await createOutboxFor(service, database)
      await o.queue(
        { operation: 'note', visitor_id: ids.visitor, content: 'x' },
        { operation: 'note', visitor_id: ids.visitor, content: `y` },
      )
      await o.push()
      expect(await o.statuses()).toEqual(['failed', 'failed'])
    },
  )

  test(`an id that cannot be stored stops one write-back, not all (${database})`, async () => {
    const service = await startIndependentDouble()
    const o = await createOutboxFor(service, database)
    await o.warehouse.query(`insert into writebacks (project_id, operation, visitor_id, payload, expect)
      values ('${ids.project}', 'note', '${ids.visitor}', '{"content":"x"}', '9999999999999999999')`)
    await o.queue(replyLine('Fine.'))
    await o.push()
    expect(await o.statuses()).toEqual(['failed', 'succeeded'])
  })

  test(`rows inserted by SQL with reserved columns do not block others (${database})`, async () => {
    const service = await startIndependentDouble()
    const o = await createOutboxFor(service, database)
    await o.queue({ ...replyLine('One.'), ref: 'crm-1' })
    const insert = (columns: string, values: string) =>
      o.warehouse.query(`insert into writebacks (operation, visitor_id, payload, ${columns})
        values ('note', '${ids.visitor}', '{"content":"x"}', ${values})`)
    await insert('owner', `'ann'`)
    await insert('ref', `'crm-1'`)
    await insert('evidence', `'{"refusedFields":5}'`)
    await insert('evidence', `'[]'`)
    await insert('expires_at', database === 'postgres' ? `'infinity'` : `'9999-12-31T23:59:59Z'`)
    await o.push()
    await o.push()
    const statuses = (await o.all()).map(({ payload, status }) => `${payload.content} ${status}`)
    expect(statuses.filter((it) => it.endsWith('queued'))).toEqual([])
    expect(service.done()).toHaveLength(5)
  })

  testOnOne(
    database,
    `a clock that was set back does not delay write-backs as long (${database})`,
    async () => {
      const service = await startIndependentDouble()
      const o = await createOutboxFor(service, database)
      await o.queue(replyLine('One.'))
      const far = Date.now() + 400 * 86_400_000
      await o.warehouse.query(`update writebacks set due_at = ${far}, lease_until = ${far},
      owner = '{"host":"elsewhere","pid":1,"process":"x@1"}'`)
      await o.push()
      expect(await o.statuses()).toEqual(['succeeded'])
    },
  )

  testOnOne(
    database,
    `a write-back approved late is not sent while another of its lane is in flight (${database})`,
    async () => {
      const service = await startIndependentDouble()
      const o = await createOutboxFor(service, database)
      const [first, second] = await o.queue(replyLine('One.'), replyLine('Two.'))
      await o.admin.decide('cancelled', { ids: [first!] }, { by: 'test' })
      const outbox = createOutbox(o.warehouse.projectDb(ids.project))
      const two = await outbox.claim(second!, Date.now())
      await o.admin.decide('retried', { ids: [first!] }, { by: 'test' })
      const claimed = await outbox.claim(first!, Date.now())
      const left = [
        claimed !== null && (await outbox.markSending(claimed, {}, Date.now(), Date.now())),
        await outbox.markSending(two!, {}, Date.now(), Date.now()),
      ]
      expect(left.filter((it) => it)).toHaveLength(1)
    },
  )

  testOnOne(
    database,
    `a note whose sending process has ended is uncertain (${database})`,
    async () => {
      const service = await startIndependentDouble()
      const o = await createOutboxFor(service, database)
      const [id] = await o.queue(replyLine('One.'))
      const outbox = createOutbox(o.warehouse.projectDb(ids.project))
      const claimed = await outbox.claim(id!, Date.now())
      await outbox.markSending(claimed!, {}, Date.now(), Date.now() + 1e9)
      expect(await o.admin.decide('arrived', { ids: [id!] }, { by: 'a person' })).toEqual({
        count: 0,
        ids: [],
      })
      await outbox.settleSent(claimed!, {
        event: 'no_response',
        why: 'silence',
        dueAt: Date.now() + 1e9,
      })
      expect(await o.admin.decide('arrived', {}, { by: 'a person' })).toEqual({ count: 0, ids: [] })
      expect(await o.admin.decide('arrived', { ids: [id!] }, { by: 'a person' })).toEqual({
        count: 1,
        ids: [id],
      })
      expect(await o.statuses()).toEqual(['succeeded'])
    },
  )
}

test('an expiry in the format of SQL is respected', async () => {
  const service = await startIndependentDouble()
  const o = await createOutboxFor(service)
  await o.warehouse.query(`insert into writebacks (project_id, operation, conversation_id, payload, expires_at)
    values ('${ids.project}', 'handled', '${ids.conversation}', '{"handled":true}', datetime('now', '-1 day'))`)
  await o.push()
  expect(service.done()).toEqual([])
  expect(await o.statuses()).not.toContain('succeeded')
})

test('a correction that is resent gives way to an edit in between', async () => {
  const service = await startIndependentDouble({
    write: (_path, _body, _does, nth) => {
      if (nth > 1) return null
      service.visitor.name = 'Augusta'
      return { cut: true }
    },
  })
  const o = await createOutboxFor(service)
  await o.queue({ operation: 'visitor', visitor_id: ids.visitor, name: 'Ada' })
  await o.push()
  expect(await o.statuses()).toEqual(['conflict'])
  expect(service.visitor.name).toBe('Augusta')
})

test('a correction that is carried out late does not overwrite the next one', async () => {
  const service = await startIndependentDouble({
    write: (_path, _body, perform, nth) => {
      if (nth > 1) return null
      setTimeout(perform, 400)
      return { cut: true }
    },
  })
  const o = await createOutboxFor(service)
  const name = (text: string) => ({ operation: 'visitor', visitor_id: ids.visitor, name: text })
  await o.queue(name('One'), name('Two'))
  await o.push({ verifyAfterMs: 1000 })
  expect(service.done().map(({ body }) => body.name)).toEqual(['One', 'Two'])
  expect(await o.statuses()).toEqual(['succeeded', 'succeeded'])
})

test('a correction that arrives after its verifications is taken back to what was there before its first send', async () => {
  const service = await startIndependentDouble()
  const o = await createOutboxFor(service)
  const correction = toRequest({ operation: 'visitor', visitor_id: ids.visitor, name: 'Ada' })
  const options = { status: 'queued', batchId: 'late', createdBy: 'test', expiresAt: null } as const
  await o.admin.enqueue([[correction]], options)
  const outbox = createOutbox(o.warehouse.projectDb(ids.project))
  const [head] = await outbox.findClaimable(Date.now(), 1)
  const claimed = await outbox.claim(head!.id, Date.now())
  await outbox.markSending(claimed!, { before: { ...service.visitor } }, Date.now(), Date.now())
  await outbox.settleSent(claimed!, { event: 'absent', why: 'it was not found' })
  service.visitor.name = 'Ada'
  await o.push()
  expect(await o.statuses()).toEqual(['succeeded'])
  const [lane] = await Array.fromAsync(
    createOutbox(o.warehouse.projectDb(ids.project)).readLanes('late'),
  )
  expect(revertLane(lane!).requests[0]?.payload).toEqual({ name: 'Vi' })
})

test('our own correction is recognised if the service trims it and converts it to lower case', async () => {
  const service = await startIndependentDouble({
    storedField: (text) => text.trim().toLowerCase(),
    write: (_path, _body, perform, nth) => {
      if (nth !== 2) return null
      perform()
      return { cut: true }
    },
  })
  const o = await createOutboxFor(service)
  const correction = (fields: object) => ({
    operation: 'visitor',
    visitor_id: ids.visitor,
    ...fields,
  })
  await o.queue(
    correction({ name: 'Ada ' }),
    correction({ name: 'Bea' }),
    correction({ email: 'Bea@example.com' }),
  )
  await o.push()
  expect(await o.statuses()).toEqual(['succeeded', 'succeeded', 'succeeded'])
  expect(service.done()).toHaveLength(3)
})

test('an id in upper case is the same conversation', async () => {
  const service = await startIndependentDouble({ write: firstAnswerLost })
  const o = await createOutboxFor(service)
  await o.queue(
    { ...replyLine('Once.'), conversation_id: ids.conversation.toUpperCase() },
    replyLine('Then.'),
  )
  await o.push()
  expect(service.done().map(({ body }) => body.content)).toEqual(['Once.', 'Then.'])
  expect(await o.statuses()).toEqual(['succeeded', 'succeeded'])
})

for (const [status, event, becomes] of [
  ['queued', 'accepted', 'succeeded'],
  ['queued', 'no_response', 'sending'],
  ['cancelled', 'accepted', 'succeeded'],
  ['cancelled', 'no_response', 'sending'],
] as const) {
  test(`the status ${status}, set by SQL in flight, does not prevent the outcome ${event}`, async () => {
    const service = await startIndependentDouble()
    const o = await createOutboxFor(service)
    const [id] = await o.queue(replyLine('Once.'))
    const outbox = createOutbox(o.warehouse.projectDb(ids.project))
    const claimed = await outbox.claim(id!, Date.now())
    await outbox.markSending(claimed!, {}, Date.now(), Date.now())
    await o.warehouse.query(`update writebacks set status = '${status}' where id = '${id}'`)
    expect(await outbox.settleSent(claimed!, { event, why: 'as it came' })).toBe(becomes)
  })
}

for (const database of ['sqlite', 'postgres'] as const) {
  testOnOne(
    database,
    `a retried correction is sent, also after our own earlier one (${database})`,
    async () => {
      const service = await startIndependentDouble()
      const o = await createOutboxFor(service, database)
      const name = (text: string) => ({ operation: 'visitor', visitor_id: ids.visitor, name: text })
      const [, second] = await o.queue(name('One'), name('Two'))
      service.afterNext(() => {
        service.visitor.name = 'Augusta'
      })
      await o.push()
      expect(await o.statuses()).toEqual(['succeeded', 'conflict'])
      await o.admin.decide('retried', { ids: [second!] }, { by: 'test' })
      await o.push()
      expect(await o.statuses()).toEqual(['succeeded', 'succeeded'])
    },
  )

  testOnOne(
    database,
    `our own correction is recognised, whatever the clocks say (${database})`,
    async () => {
      const service = await startIndependentDouble()
      const o = await createOutboxFor(service, database)
      const name = (text: string) => ({ operation: 'visitor', visitor_id: ids.visitor, name: text })
      await o.queue(name('One'), name('Two'))
      // The database's clock may be ahead of this machine's.
      await o.warehouse.query(
        `update writebacks set created_at = '2099-01-01T00:00:00Z', target_snapshot = '{"name":"Vi"}'`,
      )
      await o.push()
      expect(await o.statuses()).toEqual(['succeeded', 'succeeded'])
    },
  )

  testOnOne(
    database,
    `a person may close a conversation although the reply before was not sent (${database})`,
    async () => {
      const service = await startIndependentDouble({
        write: (path) =>
          path.endsWith('/messages') ? { status: 422, text: '{"error":{"code":"NO"}}' } : null,
      })
      const o = await createOutboxFor(service, database)
      const [, second] = await o.queue(replyLine('Solved.'), handledLine)
      await o.push()
      expect(await o.statuses()).toEqual(['failed', 'conflict'])
      await o.push()
      await o.admin.decide('retried', { ids: [second!] }, { by: 'test' })
      await o.push()
      expect(await o.statuses()).toEqual(['failed', 'succeeded'])
    },
  )
}

test('the circuit breaker ignores outcomes of an hour ago or of a clock ahead', () => {
  const outcomes = (at: string) =>
    Array.from(
      { length: 5 },
      () =>
        ({ status: 'uncertain', batchId: null, at, why: 'silence', isOwnFault: false }) as const,
    )
  const now = Date.parse('2026-01-01T12:00:00Z')
  expect(evaluateCircuits(outcomes('2026-01-01T11:59:00Z'), now).all?.why).toMatch(/silence/)
  expect(evaluateCircuits(outcomes('2026-01-01T11:00:00Z'), now).all).toBeNull()
  expect(evaluateCircuits(outcomes('2027-01-01T12:00:00Z'), now).all).toBeNull()
})

test('write-backs are sent even if reads are very slow', async () => {
  const service = await startIndependentDouble()
  const o = await createOutboxFor(service)
  const [id] = await o.queue(handledLine)
  let now = Date.now()
  const respond = (data: Json) => {
    return {
      data,
      status: 200,
      requestId: null,
      serverDate: null,
      cursorLimit: 0,
      requestedAt: now,
    }
  }
  let reads = 0
  const outbox = createOutbox(o.warehouse.projectDb(ids.project))
  const result = await sendOne(
    {
      projectId: ids.project,
      get: async () => {
        now += 25_000
        reads += 1
        if (reads > 10) throw new Error('it reads for ever')
        return respond({
          id: ids.conversation,
          lastMessageAt: '2020-01-01T00:00:00Z',
          handledAt: null,
        })
      },
      send: async (_call, markSending) => {
        if (await markSending()) return respond(null)
        throw new ApiError({
          kind: 'transient',
          why: 'not sent',
          mayHaveBeenSent: false,
          status: null,
          requestId: null,
        })
      },
      isProjectServed: async () => true,
      columns: noColumnRules,
      compared: noColumnRules,
      outbox,
      mirror: {
        commit: async () => ({ changed: 0, unchanged: 0 }) as never,
        readRawById: async () => new Map(),
      },
      verifyAfterMs: 100,
      resendReplies: true,
      now: () => now,
      random: () => 0,
      signal: new AbortController().signal,
      log: { debug: () => {}, info: () => {}, warn: () => {} },
    },
    (await outbox.claim(id!, now))!,
  )
  expect(result).toMatchObject({ kind: 'settled', status: 'succeeded' })
})

test('the response is stored even if the database is unavailable at that time', async () => {
  const service = await startIndependentDouble({ writeMs: 100 })
  const o = await createOutboxFor(service, 'postgres')
  await o.queue({ operation: 'note', visitor_id: ids.visitor, content: 'Once.' })
  const pushed = o.push().catch(() => {})
  await waitFor(() => expect(service.done()).toHaveLength(1))
  // The response comes within this time, while connections to the database are terminated.
  for (const until = Date.now() + 300; Date.now() < until; )
    await o.warehouse.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`)
  await pushed
  expect(await o.statuses()).toEqual(['succeeded'])
})

test('cancelling everything survives a deadlock with other SQL', async () => {
  const o = await createOutboxFor(await startIndependentDouble(), 'postgres')
  const [first, second] = await o.queue(replyLine('One.'), replyLine('Two.'))
  const url = new URL(o.url)
  const schema = url.searchParams.get('schema')
  url.searchParams.delete('schema')
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  onTestFinished(() => client.end())
  const touch = (id: string | undefined) =>
    client.query(`update ${schema}.writebacks set created_by = 'bi' where id = $1`, [id])
  // Postgres terminates the transaction that first checks for the deadlock.
  await client.query(`begin; set local deadlock_timeout = '1min'`)
  await touch(second)
  const cancelled = o.admin.decide('cancelled', {}, { by: 'a person' })
  const { rows } = await client.query('select pg_backend_pid() as pid')
  const waiting = `select 1 from pg_stat_activity where ${rows[0].pid} = any(pg_blocking_pids(pid))`
  await waitFor(async () => expect(await o.warehouse.query(waiting)).toHaveLength(1))
  await touch(first)
  await client.query('commit')
  expect(await cancelled).toMatchObject({ count: 2 })
})
