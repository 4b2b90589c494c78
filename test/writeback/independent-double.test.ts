/** Services that differ from the sandbox in what the documentation leaves open: nothing arrives twice, nothing stands still. */
import pg from 'pg'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { ApiError } from '../../src/core/api-failure.ts'
import type { Json } from '../../src/core/row.ts'
import { evaluateCircuits } from '../../src/writeback/send/circuit-breaker.ts'
import { sendOne } from '../../src/writeback/send/send-one.ts'
import { createOutboxFor, handledLine, ids, replyLine, startIndependentDouble } from './independent-double.ts'

/** The first write is done, and its answer is lost. */
const firstAnswerLost = (_path: string, _body: unknown, does: () => void, nth: number) => {
  if (nth > 1) return null
  does()
  return { cut: true } as const
}

describe('a reply whose answer was lost goes out once', () => {
  for (const senderType of ['agent', 'human', 'api', 'user', 'visitor']) {
    test(`where the service calls its sender ${senderType}`, async () => {
      const service = await startIndependentDouble({ replySenderType: senderType, write: firstAnswerLost })
      const o = await createOutboxFor(service)
      await o.queue(replyLine('Once.'))
      await o.push()
      expect(service.done()).toHaveLength(1)
      expect(await o.statuses()).toEqual(['succeeded'])
    })
  }

  test('where it is shown as something else than an utterance', async () => {
    const service = await startIndependentDouble({ replyKind: 'api_message', write: firstAnswerLost })
    const o = await createOutboxFor(service)
    await o.queue(replyLine('Once.'))
    await o.push()
    expect(service.done()).toHaveLength(1)
  })

  test('where conversations go by another clock than messages', async () => {
    const service = await startIndependentDouble({ aheadMs: 3_600_000, write: firstAnswerLost })
    const o = await createOutboxFor(service)
    await o.queue(replyLine('Once.'))
    await o.push()
    expect(service.done()).toHaveLength(1)
    expect(await o.statuses()).toEqual(['succeeded'])
  })

  test('where some texts are shown as they were sent, and others are not', async () => {
    const service = await startIndependentDouble({
      storedText: (content) => content.replaceAll('&', '&amp;'),
      write: (_path, body, does) => {
        if (!String(body.content).includes('&')) return null
        does()
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
  ['without its tags', 'Hello<br>World', { kept: () => 'HelloWorld', named: () => 'Support' }],
  ['cut off within a word', '您的订单已发货', { kept: () => '您的订单…', named: () => 'Support' }],
  ['in quite other words', 'Call 555-0199.', { kept: () => '[removed]' }],
] as const) {
  test(`a reply whose answer was lost, and which is shown ${how}, does not go again by itself`, async () => {
    const service = await startIndependentDouble({ ...quirks, write: firstAnswerLost })
    const o = await createOutboxFor(service)
    await o.queue(replyLine(sent))
    await o.push()
    expect(service.done()).toHaveLength(1)
    expect(await o.statuses()).toEqual(['uncertain'])
  })
}

test('a reply that did not arrive is not taken for its equal before it, which shows late', async () => {
  const service = await startIndependentDouble({
    lagMs: 700,
    write: (_path, _body, _does, nth) => (nth === 2 ? { cut: true } : null),
  })
  const o = await createOutboxFor(service)
  await o.queue(replyLine('Thanks!'), replyLine('Thanks!'))
  await o.push({ verifyAfterMs: 900 })
  const succeeded = (await o.statuses()).filter((status) => status === 'succeeded')
  expect(service.done().length).toBeGreaterThanOrEqual(succeeded.length)
})

for (const senderType of ['human', 'api']) {
  test(`our own reply is no news of a visitor, where the service calls its sender ${senderType}`, async () => {
    const service = await startIndependentDouble({ replySenderType: senderType })
    const o = await createOutboxFor(service)
    await o.queue(replyLine('Solved.'), handledLine)
    await o.warehouse.query(`update writebacks set created_at = '2026-01-01T00:00:00Z', seen = null`)
    service.say({ senderType: 'agent', content: 'Before.', name: 'Bo' })
    await o.warehouse.query(`update writebacks set expect = '2' where operation = 'handled'`)
    await o.push()
    expect(await o.statuses()).toEqual(['succeeded', 'succeeded'])
  })
}

test('one that a gateway does not let through fails, and the others go on', async () => {
  const service = await startIndependentDouble({
    write: (_path, body) =>
      String(body.content).includes('<script>') ? { status: 403, text: '<html>Blocked</html>' } : null,
  })
  const o = await createOutboxFor(service)
  await o.queue(replyLine('<script>'), replyLine('Fine.'))
  await o.push()
  expect(await o.statuses()).toEqual(['failed', 'succeeded'])
})

test('a 303 after a reply does not say that it was not sent', async () => {
  const service = await startIndependentDouble({
    write: (_path, _body, does) => {
      does()
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
  test(`a visitor with characters that a database cannot hold is corrected (${database})`, async () => {
    const service = await startIndependentDouble()
    service.visitor.email = 'a\u0000b\ud83d'
    const o = await createOutboxFor(service, database)
    await o.queue({ operation: 'visitor', visitor_id: ids.visitor, name: 'Ada' })
    await o.push()
    expect(await o.statuses()).toEqual(['succeeded'])
    expect(service.visitor).toEqual({ name: 'Ada', email: 'a\u0000b\ud83d' })
  })

  test(`a refusal that is cut within a character is written down (${database})`, async () => {
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
  })

  test(`an id that no database holds stops one write-back, not all (${database})`, async () => {
    const service = await startIndependentDouble()
    const o = await createOutboxFor(service, database)
    await o.warehouse.query(`insert into writebacks (project_id, operation, visitor_id, payload, expect)
      values ('${ids.project}', 'note', '${ids.visitor}', '{"content":"x"}', '9999999999999999999')`)
    await o.queue(replyLine('Fine.'))
    await o.push()
    expect(await o.statuses()).toEqual(['failed', 'succeeded'])
  })

  test(`rows of plain SQL that bring what is not theirs to bring stop nobody (${database})`, async () => {
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

  test(`a clock that was set back keeps nothing waiting for as long (${database})`, async () => {
    const service = await startIndependentDouble()
    const o = await createOutboxFor(service, database)
    await o.queue(replyLine('One.'))
    const far = Date.now() + 400 * 86_400_000
    await o.warehouse.query(`update writebacks set due_at = ${far}, lease_until = ${far},
      owner = '{"host":"elsewhere","pid":1,"process":"x@1"}'`)
    await o.push()
    expect(await o.statuses()).toEqual(['succeeded'])
  })

  test(`one that was approved late does not leave beside one that is on its way (${database})`, async () => {
    const service = await startIndependentDouble()
    const o = await createOutboxFor(service, database)
    const [first, second] = await o.queue(replyLine('One.'), replyLine('Two.'))
    await o.desk.decide('cancelled', { ids: [first!] }, 'test')
    const outbox = o.warehouse.outbox(ids.project)
    const two = await outbox.claim(second!, Date.now())
    await o.desk.decide('retried', { ids: [first!] }, 'test')
    const one = await outbox.claim(first!, Date.now())
    const left = [
      one !== null && (await outbox.markSending(one, {}, Date.now(), Date.now())),
      await outbox.markSending(two!, {}, Date.now(), Date.now()),
    ]
    expect(left.filter((it) => it)).toHaveLength(1)
  })

  test(`one whose process has ended, and which nobody can look for, is for a person to decide (${database})`, async () => {
    const service = await startIndependentDouble()
    const o = await createOutboxFor(service, database)
    const [id] = await o.queue(replyLine('One.'))
    const outbox = o.warehouse.outbox(ids.project)
    const one = await outbox.claim(id!, Date.now())
    await outbox.markSending(one!, {}, Date.now(), Date.now() + 1e9)
    expect(await o.desk.decide('arrived', { ids: [id!] }, 'a person')).toEqual({ count: 0, ids: [] })
    await outbox.settleSent(one!, { event: 'no_answer', why: 'silence', dueAt: Date.now() + 1e9 })
    expect(await o.desk.decide('arrived', {}, 'a person')).toEqual({ count: 0, ids: [] })
    expect(await o.desk.decide('arrived', { ids: [id!] }, 'a person')).toEqual({ count: 1, ids: [id] })
    expect(await o.statuses()).toEqual(['succeeded'])
  })
}

test('a time of expiry as SQL writes it is not passed over', async () => {
  const service = await startIndependentDouble()
  const o = await createOutboxFor(service)
  await o.warehouse.query(`insert into writebacks (project_id, operation, conversation_id, payload, expires_at)
    values ('${ids.project}', 'handled', '${ids.conversation}', '{"handled":true}', datetime('now', '-1 day'))`)
  await o.push()
  expect(service.done()).toEqual([])
  expect(await o.statuses()).not.toContain('succeeded')
})

test('a correction that goes once more yields to an edit that came between', async () => {
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

test('a correction that is done late does not undo the one behind it', async () => {
  const service = await startIndependentDouble({
    write: (_path, _body, does, nth) => {
      if (nth > 1) return null
      setTimeout(does, 400)
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

test('our own correction is known as such, where the service trims it and writes it in small letters', async () => {
  const service = await startIndependentDouble({
    storedField: (text) => text.trim().toLowerCase(),
    write: (_path, _body, does, nth) => {
      if (nth !== 2) return null
      does()
      return { cut: true }
    },
  })
  const o = await createOutboxFor(service)
  const correction = (fields: object) => ({ operation: 'visitor', visitor_id: ids.visitor, ...fields })
  await o.queue(correction({ name: 'Ada ' }), correction({ name: 'Bea' }), correction({ email: 'Bea@example.com' }))
  await o.push()
  expect(await o.statuses()).toEqual(['succeeded', 'succeeded', 'succeeded'])
  expect(service.done()).toHaveLength(3)
})

test('an id in capitals is the same conversation', async () => {
  const service = await startIndependentDouble({ write: firstAnswerLost })
  const o = await createOutboxFor(service)
  await o.queue({ ...replyLine('Once.'), conversation_id: ids.conversation.toUpperCase() }, replyLine('Then.'))
  await o.push()
  expect(service.done().map(({ body }) => body.content)).toEqual(['Once.', 'Then.'])
  expect(await o.statuses()).toEqual(['succeeded', 'succeeded'])
})

for (const [said, happening, becomes] of [
  ['queued', 'accepted', 'succeeded'],
  ['queued', 'no_answer', 'sending'],
  ['cancelled', 'accepted', 'succeeded'],
  ['cancelled', 'no_answer', 'sending'],
] as const) {
  test(`that it is ${said}, said by SQL while it is on its way, does not hide that it was ${happening}`, async () => {
    const service = await startIndependentDouble()
    const o = await createOutboxFor(service)
    const [id] = await o.queue(replyLine('Once.'))
    const outbox = o.warehouse.outbox(ids.project)
    const one = await outbox.claim(id!, Date.now())
    await outbox.markSending(one!, {}, Date.now(), Date.now())
    await o.warehouse.query(`update writebacks set status = '${said}' where id = '${id}'`)
    expect(await outbox.settleSent(one!, { event: happening, why: 'as it came' })).toBe(becomes)
  })
}

for (const database of ['sqlite', 'postgres'] as const) {
  test(`a correction goes out once a person has looked again, our own before it or not (${database})`, async () => {
    const service = await startIndependentDouble()
    const o = await createOutboxFor(service, database)
    const name = (text: string) => ({ operation: 'visitor', visitor_id: ids.visitor, name: text })
    const [, second] = await o.queue(name('One'), name('Two'))
    service.afterNext(() => {
      service.visitor.name = 'Augusta'
    })
    await o.push()
    expect(await o.statuses()).toEqual(['succeeded', 'conflict'])
    await o.desk.decide('retried', { ids: [second!] }, 'test')
    await o.push()
    expect(await o.statuses()).toEqual(['succeeded', 'succeeded'])
  })

  test(`our own correction is known as such, whatever the clocks say (${database})`, async () => {
    const service = await startIndependentDouble()
    const o = await createOutboxFor(service, database)
    const name = (text: string) => ({ operation: 'visitor', visitor_id: ids.visitor, name: text })
    await o.queue(name('One'), name('Two'))
    // The database's clock may be ahead of this machine's.
    await o.warehouse.query(`update writebacks set created_at = '2099-01-01T00:00:00Z', seen = '{"name":"Vi"}'`)
    await o.push()
    expect(await o.statuses()).toEqual(['succeeded', 'succeeded'])
  })

  test(`a person may close a conversation although the reply before did not go out (${database})`, async () => {
    const service = await startIndependentDouble({
      write: (path) => (path.endsWith('/messages') ? { status: 422, text: '{"error":{"code":"NO"}}' } : null),
    })
    const o = await createOutboxFor(service, database)
    const [, second] = await o.queue(replyLine('Solved.'), handledLine)
    await o.push()
    expect(await o.statuses()).toEqual(['failed', 'conflict'])
    await o.push()
    await o.desk.decide('retried', { ids: [second!] }, 'test')
    await o.push()
    expect(await o.statuses()).toEqual(['failed', 'succeeded'])
  })
}

test('what stood against replies an hour ago holds them back no more, a clock that was set back included', () => {
  const fates = (at: string) =>
    Array.from(
      { length: 5 },
      () => ({ status: 'uncertain', batchId: null, at, why: 'silence', isOwnFault: false }) as const,
    )
  const now = Date.parse('2026-01-01T12:00:00Z')
  expect(evaluateCircuits(fates('2026-01-01T11:59:00Z'), now).allReason).toMatch(/silence/)
  expect(evaluateCircuits(fates('2026-01-01T11:00:00Z'), now).allReason).toBeNull()
  expect(evaluateCircuits(fates('2027-01-01T12:00:00Z'), now).allReason).toBeNull()
})

test('a service that lets one look very slowly is sent to all the same', async () => {
  const service = await startIndependentDouble()
  const o = await createOutboxFor(service)
  const [id] = await o.queue(handledLine)
  let now = Date.now()
  const answer = (data: Json) => ({ data, status: 200, requestId: null, servedAt: null, cursorLimit: 0, askedAt: now })
  let looks = 0
  const outbox = o.warehouse.outbox(ids.project)
  const delivered = await sendOne(
    {
      projectId: ids.project,
      get: async () => {
        now += 25_000
        looks += 1
        if (looks > 10) throw new Error('it looks for ever')
        return answer({ id: ids.conversation, lastMessageAt: '2020-01-01T00:00:00Z', handledAt: null })
      },
      send: async (_call, leave) => {
        if (await leave()) return answer(null)
        throw new ApiError({
          kind: 'transient',
          why: 'held back',
          mayHaveBeenSent: false,
          status: null,
          requestId: null,
        })
      },
      outbox,
      mirror: { commit: async () => ({ changed: 0, unchanged: 0 }) as never, rawOf: async () => new Map() },
      verifyAfterMs: 100,
      resendReplies: true,
      now: () => now,
      random: () => 0,
      signal: new AbortController().signal,
      log: { debug: () => {}, info: () => {}, warn: () => {} },
    },
    (await outbox.claim(id!, now))!,
  )
  expect(delivered).toEqual({ kind: 'settled', status: 'succeeded' })
})

test('what the service answered is not forgotten where the database is away at that moment', async () => {
  const service = await startIndependentDouble({ writeMs: 100 })
  const o = await createOutboxFor(service, 'postgres')
  await o.queue({ operation: 'note', visitor_id: ids.visitor, content: 'Once.' })
  const pushed = o.push().catch(() => {})
  await vi.waitFor(() => expect(service.done()).toHaveLength(1), { timeout: 10_000, interval: 5 })
  // It answers within this time, and whoever wants to write that down is cut off.
  for (const until = Date.now() + 300; Date.now() < until; )
    await o.warehouse.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`)
  await pushed
  expect(await o.statuses()).toEqual(['succeeded'])
})

test('the kill switch works where somebody’s SQL holds the same rows the other way round', async () => {
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
  // Whoever looks first for what ties them up is ended.
  await client.query(`begin; set local deadlock_timeout = '1min'`)
  await touch(second)
  const cancelled = o.desk.decide('cancelled', {}, 'a person')
  const { rows } = await client.query('select pg_backend_pid() as pid')
  const waiting = `select 1 from pg_stat_activity where ${rows[0].pid} = any(pg_blocking_pids(pid))`
  await vi.waitFor(async () => expect(await o.warehouse.query(waiting)).toHaveLength(1), { timeout: 5000 })
  await touch(first)
  await client.query('commit')
  expect(await cancelled).toMatchObject({ count: 2 })
})
