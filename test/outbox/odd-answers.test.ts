/** Ambiguous responses: verified before they are believed, and before a resend. */
import { expect, test } from 'vitest'
import {
  createOutboxFor,
  ids,
  replyLine,
  startIndependentDouble,
  type WriteReply,
} from './independent-double.ts'
import { createOutboxFixture, performedWrites } from './outbox-fixture.ts'

/**
 * A service that gives an odd response to the first send of each text, whether it stored it or not.
 */
async function createOddDouble(
  odd: (content: string) => WriteReply,
  isDone: (content: string) => boolean,
) {
  const seen = new Set<unknown>()
  const service = await startIndependentDouble({
    write: (_path, body, perform) => {
      if (seen.has(body.content)) return null
      seen.add(body.content)
      if (isDone(String(body.content))) perform()
      return odd(String(body.content))
    },
  })
  const o = await createOutboxFor(service)
  const times = () =>
    Object.fromEntries(
      [...Map.groupBy(service.done(), ({ body }) => body.content)].map(([text, all]) => [
        text,
        all.length,
      ]),
    )
  return { ...o, times }
}

/** All statuses: test/service/write-answers.test.ts. */
const statuses = [301, 302, 308, 409, 421, 423]

for (const is of ['done', 'not done'] as const) {
  test(`a redirect, a conflict and the like do not show whether a reply was sent, so it is verified (${is})`, async () => {
    const o = await createOddDouble(
      (text) => ({
        status: Number(text),
        text: '{"error":{"code":"ODD","message":"odd","status":409}}',
      }),
      () => is === 'done',
    )
    await o.queue(...statuses.map((status) => replyLine(String(status))))
    await o.push()
    expect(new Set(await o.statuses())).toEqual(new Set(['succeeded']))
    expect(o.times()).toEqual(Object.fromEntries(statuses.map((status) => [status, 1])))
  })
}

test('a reply that is in the conversation although the service answered 429 is not sent again', async () => {
  const o = await createOddDouble(
    () => ({
      status: 429,
      text: '{"error":{"code":"rate_limited","message":"slow","status":429}}',
    }),
    (text) => text === 'done',
  )
  await o.queue(replyLine('done'), replyLine('not done'))
  await o.push()
  expect(await o.statuses()).toEqual(['conflict', 'succeeded'])
  expect(o.times()).toEqual({ done: 1, 'not done': 1 })
})

const denials = [
  '{"ok":false}',
  '{"data":{"success":false}}',
  '{"errors":["no"]}',
  '{"error":{"code":"X","status":400}}',
]

test('a success whose body reports a failure is verified: what is found has succeeded', async () => {
  const o = await createOddDouble(
    (text) => ({ status: 200, text }),
    () => true,
  )
  await o.queue(...denials.map(replyLine))
  await o.push()
  expect(new Set(await o.statuses())).toEqual(new Set(['succeeded']))
  expect(Object.values(o.times())).toEqual(denials.map(() => 1))
})

test('what is not found and was reported as failed has failed, with the service’s message', async () => {
  const o = await createOddDouble(
    (text) => ({ status: 200, text }),
    () => false,
  )
  await o.queue(...denials.map(replyLine))
  await o.push()
  expect(new Set(await o.statuses())).toEqual(new Set(['failed']))
  expect(
    (await o.all()).find(({ payload }) => payload.content === '{"errors":["no"]}')!.error,
  ).toMatch(/200.*failed: no$/)
  expect(o.times()).toEqual({})
})

test('a temporary failure in a success is not final: what is not found is sent again', async () => {
  const o = await createOddDouble(
    (text) => ({ status: 200, text }),
    () => false,
  )
  await o.queue(
    replyLine('{"error":{"code":"rate_limited","status":429}}'),
    replyLine('{"error":{"code":"X","status":503}}'),
  )
  await o.push()
  expect(await o.statuses()).toEqual(['succeeded', 'succeeded'])
})

test('normal bodies of a success are not taken for failures', async () => {
  const o = await createOddDouble(
    (text) => ({ status: 200, text }),
    () => true,
  )
  const fine = [
    '{"ok":true,"error":null,"errors":[]}',
    '{"data":{"status":"sent","failed":0,"error":""}}',
    '{"errors":false}',
    '',
  ]
  await o.queue(...fine.map((text) => replyLine(text || ' .')))
  await o.push()
  expect((await o.all()).map(({ reason }) => reason).slice(0, 3)).toEqual(
    fine.slice(0, 3).map(() => 'the service answered 200'),
  )
})

test('a 202 succeeds only when found; otherwise it is uncertain, as it may still be carried out', async () => {
  const o = await createOddDouble(
    () => ({ status: 202, text: '{"data":null}' }),
    (text) => text === 'Done.',
  )
  await o.queue(replyLine('Done.'), replyLine('Not done.'))
  await o.push()
  expect(await o.all()).toMatchObject([
    {
      status: 'succeeded',
      reason: expect.stringMatching(
        /^the response proved nothing \(202\), but it is in the conversation/,
      ),
    },
    { status: 'uncertain', error: expect.stringMatching(/202/), attempts: 1 },
  ])
  expect(o.times()).toEqual({ 'Done.': 1 })
})

test('a flag and a correction are verified before they succeed', async () => {
  for (const switches of [
    { 'writes.answer': '202' },
    { 'fault.kinds': 'says-failed-after', 'fault.rate': 1, 'fault.on': 'writes' },
  ] as const) {
    const o = await createOutboxFixture({ switches, project: { verifyAfterMs: 100 } })
    await o.queue(
      { operation: 'handled', conversation_id: o.conversation(0), handled: true },
      { operation: 'handled', conversation_id: o.conversation(0), handled: true },
      { operation: 'visitor', visitor_id: o.visitor(0), name: 'Ada' },
      { operation: 'visitor', visitor_id: o.visitor(0), name: 'Ada' },
    )
    await o.push()
    expect(await o.statuses()).toEqual(['succeeded', 'succeeded', 'succeeded', 'succeeded'])
    expect(performedWrites(o.sandbox)).toHaveLength(4)
  }
})

test('a note after such a response is uncertain, as notes cannot be read', async () => {
  const service = await startIndependentDouble({
    write: (_path, body) => ({ status: Number(body.content), text: '{"ok":false}' }),
  })
  const o = await createOutboxFor(service)
  for (const status of [200, 202, 302, 409, 423]) {
    const [id] = await o.queue({
      operation: 'note',
      visitor_id: ids.visitor,
      content: String(status),
    })
    await o.push()
    expect(await o.statuses()).toContain('uncertain')
    await o.admin.decide('lost', { ids: [id!] }, { by: 'a person' })
  }
})
