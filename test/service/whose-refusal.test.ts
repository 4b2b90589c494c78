/**
 * Whose refusal an answer is: the client asks for the project, so that a failure's kind can be
 * relied on.
 */
import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { createTestClient, failureOf, jsonAnswer, startTestService } from './test-service.ts'

const projectId = '11111111-1111-4111-8111-111111111111'
const row = { method: 'GET', path: '/public/conversations/1', priority: 'write' } as const
const list = {
  method: 'GET',
  path: `/public/projects/${projectId}/calls`,
  priority: 'write',
} as const
const note = {
  ...row,
  method: 'POST',
  path: `/public/projects/${projectId}/visitors/1/notes`,
  body: {},
} as const

type Answer = readonly [status: number, code: string | null]
const ok: Answer = [200, null]
const noScope: Answer = [403, 'api_key_scope_missing']

/**
 * `project`: the answers for the lists of the project; every other path is answered by `refused`.
 */
async function startService(refused: Answer, ...project: readonly Answer[]) {
  const asked: string[] = []
  const answer = ([status, code]: Answer) => {
    if (status === 200) return jsonAnswer(200, { data: { items: [], hasMore: false } })
    return jsonAnswer(
      status,
      code === null ? '<h1>No</h1>' : { error: { code, message: 'No', status } },
    )
  }
  const isProbe = ({ url = '' }: IncomingMessage) =>
    /\/(conversations|visitors)\?|\/availability$/.test(url)
  const service = await startTestService((request, response) => {
    if (!isProbe(request)) return answer(refused)(request, response)
    asked.push(request.url ?? '')
    answer(project[Math.min(asked.length, project.length) - 1] ?? ok)(request, response)
  })
  return { client: createTestClient(service.url, { projectId }), asked }
}

describe('a refusal of a row, with the project', () => {
  test.for<[string, Answer, readonly Answer[], object]>([
    [
      'accepted: the row alone',
      [403, 'api_key_wrong_project'],
      [ok],
      { kind: 'refused', isOnlyThis: true },
    ],
    ['accepted, after a 401', [401, 'api_key_invalid'], [ok], { kind: 'refused', status: 401 }],
    ['accepted, without an envelope', [404, null], [ok], { kind: 'refused', isOnlyThis: true }],
    [
      'without a scope for any list',
      [403, 'x'],
      [noScope, noScope, noScope],
      { kind: 'refused', isOnlyThis: true },
    ],
    ['served with the same scope', noScope, [ok], { kind: 'refused', isOnlyThis: true }],
    [
      'without the scope as well',
      noScope,
      [noScope],
      { kind: 'denied', code: 'api_key_scope_missing' },
    ],
    [
      'denied as well',
      [401, 'api_key_invalid'],
      [[401, 'api_key_invalid']],
      { kind: 'denied', status: 401 },
    ],
    ['of another key', [403, 'restricted'], [[403, 'api_key_wrong_project']], { kind: 'denied' }],
    ['forbidden by a gateway as well', [403, null], [[403, null]], { kind: 'denied', status: 403 }],
    ['not served either', [404, null], [[404, null]], { kind: 'refused', code: 'http_404' }],
  ])('%s', async ([, refused, project, expected]) => {
    const { client } = await startService(refused, ...project)
    const failure = await failureOf(client.get(row.path, {}, row.priority))
    expect(failure).toMatchObject(expected)
    if (!('isOnlyThis' in expected) && project[0] !== ok)
      expect(failure).not.toHaveProperty('isOnlyThis')
  })

  test('that cannot be asked for now is tried again later', async () => {
    const { client } = await startService([403, 'x'], [503, 'BUSY'])
    const failure = await failureOf(client.get(row.path, {}, row.priority))
    expect(failure).toMatchObject({ kind: 'transient', mayHaveBeenSent: false })
  })

  test('of a write for a missing scope, or with the envelope of a 404, needs no question', async () => {
    const { client, asked } = await startService(noScope)
    expect(await failureOf(client.send(note))).toMatchObject({ kind: 'denied' })
    const missing = await startService([404, 'NOT_FOUND'])
    expect(await failureOf(missing.client.get(row.path, {}, row.priority))).toMatchObject({
      kind: 'refused',
    })
    expect([...asked, ...missing.asked]).toEqual([])
  })

  test('for a missing scope needs no question once rows of its kind were read since', async () => {
    const { client, asked } = await startService(noScope)
    await client.get(`/public/projects/${projectId}/conversations`, { limit: 1 }, row.priority)
    expect(await failureOf(client.get(row.path, {}, row.priority))).toMatchObject({
      kind: 'refused',
    })
    expect(asked).toHaveLength(1)
  })
})

test('a list that is refused for a reason of its own does not deny the key', async () => {
  const { client } = await startService([403, 'feature_not_enabled'], ok)
  expect(await failureOf(client.get(list.path, {}, list.priority))).toMatchObject({
    kind: 'refused',
    isOnlyThis: true,
  })
})

test('a list that says that the key is invalid is believed', async () => {
  const { client, asked } = await startService([401, 'api_key_invalid'], ok)
  expect(await failureOf(client.get(list.path, {}, list.priority))).toMatchObject({
    kind: 'denied',
  })
  expect(asked).toEqual([])
})

test('a write that is forbidden with the whole project denies the key', async () => {
  const { client } = await startService([403, 'account_suspended'], [403, 'account_suspended'])
  expect(await failureOf(client.send(note))).toMatchObject({ kind: 'denied' })
})

test('many restricted rows cost one question', async () => {
  const { client, asked } = await startService([403, 'restricted'], ok)
  const reads = Array.from({ length: 20 }, (_, n) =>
    failureOf(client.get(`${row.path}${n}`, {}, 'fresh')),
  )
  for (const failure of await Promise.all(reads)) expect(failure).toMatchObject({ kind: 'refused' })
  expect(asked).toHaveLength(1)
})
