/** Answers that say neither yes nor no: one looks before one believes them, and before one sends again. */
import { expect, test } from 'vitest'
import { createOutboxFor, ids, replyLine, startIndependentDouble, type WriteReply } from './independent-double.ts'
import { createOutboxFixture, performedWrites } from './outbox-fixture.ts'

/** A service that answers the first sending of each text as told, having done it or not, and every other one as usual. */
async function createOddDouble(odd: (content: string) => WriteReply, isDone: (content: string) => boolean) {
  const seen = new Set<unknown>()
  const service = await startIndependentDouble({
    write: (_path, body, does) => {
      if (seen.has(body.content)) return null
      seen.add(body.content)
      if (isDone(String(body.content))) does()
      return odd(String(body.content))
    },
  })
  const o = await createOutboxFor(service)
  const times = () =>
    Object.fromEntries(
      [...Map.groupBy(service.done(), ({ body }) => body.content)].map(([text, all]) => [text, all.length]),
    )
  return { ...o, times }
}

/** Every one: test/api/write-answers.test.ts. */
const statuses = [301, 302, 308, 409, 421, 423]

for (const is of ['done', 'not done'] as const) {
  test(`a redirect, a conflict and the like do not say whether a reply was sent: it is looked for (${is})`, async () => {
    const o = await createOddDouble(
      (text) => ({ status: Number(text), text: '{"error":{"code":"ODD","message":"odd","status":409}}' }),
      () => is === 'done',
    )
    await o.queue(...statuses.map((status) => replyLine(String(status))))
    await o.push()
    expect(new Set(await o.statuses())).toEqual(new Set(['succeeded']))
    expect(o.times()).toEqual(Object.fromEntries(statuses.map((status) => [status, 1])))
  })
}

const denials = [
  '{"ok":false}',
  '{"data":{"success":false}}',
  '{"errors":["no"]}',
  '{"error":{"code":"X","status":400}}',
]

test('a success that says of itself that it failed is not believed: what is there has succeeded', async () => {
  const o = await createOddDouble(
    (text) => ({ status: 200, text }),
    () => true,
  )
  await o.queue(...denials.map(replyLine))
  await o.push()
  expect(new Set(await o.statuses())).toEqual(new Set(['succeeded']))
  expect(Object.values(o.times())).toEqual(denials.map(() => 1))
})

test('what is not there, and was said to have failed, has failed, in the words of the service', async () => {
  const o = await createOddDouble(
    (text) => ({ status: 200, text }),
    () => false,
  )
  await o.queue(...denials.map(replyLine))
  await o.push()
  expect(new Set(await o.statuses())).toEqual(new Set(['failed']))
  expect((await o.all()).find(({ payload }) => payload.content === '{"errors":["no"]}')!.error).toMatch(
    /200.*failed: no$/,
  )
  expect(o.times()).toEqual({})
})

test('a passing failure under a success is no last word: not there, it goes again', async () => {
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

test('nothing that a success may well hold is taken for a failure', async () => {
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
  expect((await o.all()).map(({ step }) => step).slice(0, 3)).toEqual(
    fine.slice(0, 3).map(() => 'the service answered 200'),
  )
})

test('a 202 is no success before it shows; not there, it is for a person, as it may be done still', async () => {
  const o = await createOddDouble(
    () => ({ status: 202, text: '{"data":null}' }),
    (text) => text === 'Done.',
  )
  await o.queue(replyLine('Done.'), replyLine('Not done.'))
  await o.push()
  expect(await o.all()).toMatchObject([
    {
      status: 'succeeded',
      step: expect.stringMatching(/^the response proved nothing \(202\), but it is in the conversation/),
    },
    { status: 'uncertain', error: expect.stringMatching(/202/), attempts: 1 },
  ])
  expect(o.times()).toEqual({ 'Done.': 1 })
})

test('a flag and a correction are looked at before they count as done', async () => {
  for (const told of [
    { 'writes.answer': '202' },
    { 'fault.kinds': 'says-failed-after', 'fault.rate': 1, 'fault.on': 'writes' },
  ] as const) {
    const o = await createOutboxFixture({ switches: told, project: { verifyAfterMs: 100 } })
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

test('a note after such an answer is left to a person: nothing shows notes', async () => {
  const service = await startIndependentDouble({
    write: (_path, body) => ({ status: Number(body.content), text: '{"ok":false}' }),
  })
  const o = await createOutboxFor(service)
  for (const status of [200, 202, 302, 409, 423]) {
    const [id] = await o.queue({ operation: 'note', visitor_id: ids.visitor, content: String(status) })
    await o.push()
    expect(await o.statuses()).toContain('uncertain')
    await o.desk.decide('lost', { ids: [id!] }, 'a person')
  }
})
