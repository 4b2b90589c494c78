/** Every answer of every operation is as the service's description says, whatever the switches. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { operations } from '../../src/sandbox/api/operations.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import {
  describedOperations,
  firstRowPaths,
  type SandboxRequest,
  type SandboxResponse,
  sendConforming,
  sendRequest,
} from './requests.ts'

let sandbox: Sandbox
let at: Awaited<ReturnType<typeof firstRowPaths>>
beforeAll(async () => {
  sandbox = await startSandbox({ seed: 11, switches: { 'rate.kind': 'off' } })
  at = await firstRowPaths(sandbox)
})
afterAll(() => sandbox.stop())

type Case = { path: () => string; asking?: SandboxRequest }
const range = 'from=2026-05-01T00:00:00Z&to=2026-05-31T00:00:00Z'

/** One good request for each operation. */
const good: Record<string, Case> = {
  listConversations: { path: () => `${at.base}/conversations?limit=200` },
  getConversation: { path: () => at.conversation },
  listMessages: { path: () => `${at.conversation}/messages` },
  sendMessage: {
    path: () => `${at.conversation}/messages`,
    asking: { method: 'POST', body: { content: 'Hi', senderName: 'Ann' } },
  },
  setHandled: { path: () => `${at.conversation}/handled`, asking: { method: 'POST', body: { handled: true } } },
  listVisitors: { path: () => `${at.base}/visitors?limit=200` },
  getVisitor: { path: () => at.visitor },
  updateVisitor: { path: () => at.visitor, asking: { method: 'PATCH', body: { name: 'Ann', email: null } } },
  listActivity: { path: () => `${at.visitor}/activity` },
  addNote: { path: () => `${at.visitor}/notes`, asking: { method: 'POST', body: { content: 'Prefers mornings' } } },
  listCalls: { path: () => `${at.base}/calls?${range}` },
  getCall: { path: () => at.call },
  getRecording: { path: () => `${at.call}/recording` },
  getAnalytics: { path: () => `${at.base}/analytics?${range}` },
  getAvailability: { path: () => `${at.base}/availability` },
  mintWidgetToken: {
    path: () => '/v1/widget/token',
    asking: {
      method: 'POST',
      body: { visitor: { email: 'a@b.c', name: 'A', company: 'C' }, metadata: { a: 1 }, ttl: 60 },
    },
  },
}

test('the description has the fifteen operations and the widget token, and the sandbox serves exactly those', () => {
  expect([...describedOperations.keys()].sort()).toEqual(Object.keys(good).sort())
  expect(operations.map(({ id, method, path, scope }) => ({ id, method, path, scope }))).toEqual(
    [...describedOperations.entries()]
      .filter(([id]) => id !== 'mintWidgetToken')
      .map(([id, op]) => ({
        id,
        method: op.method.toUpperCase(),
        path: op.path,
        scope: (op as unknown as Record<string, string>)['x-scope'],
      }))
      .sort((a, b) => order(a.id) - order(b.id)),
  )
})
const order = (id: string) => operations.findIndex((operation) => operation.id === id)

const vocabularies = [
  {},
  { 'visitors.fields': 'nested', 'calls.fields': 'nested', 'activity.fields': 'nested', 'writes.answer': '201' },
  { 'visitors.fields': 'snake', 'calls.fields': 'snake', 'activity.fields': 'snake', 'fields.drift': 2 },
  { 'conversations.updatedAt': true, 'fields.drift': 1, gzip: true },
] as const

for (const switches of vocabularies) {
  describe(`with ${JSON.stringify(switches)}`, () => {
    test.for(Object.entries(good))('%s answers as described', async ([id, { path, asking }]) => {
      sandbox.setSwitches(switches)
      const answer = await sendConforming(sandbox, id, path(), asking)
      expect(answer.status, answer.text).toBeGreaterThanOrEqual(200)
      expect(answer.status, answer.text).toBeLessThan(300)
      expect(answer.body.requestId).toBeTypeOf('string')
      expect(answer.body.error).toBeUndefined()
    })
  })
}

const failures: Record<
  string,
  { status: number; code: string; asking: SandboxRequest; only?: (id: string) => boolean }
> = {
  'no credential': { status: 401, code: 'api_key_missing', asking: { key: null } },
  'an unknown key': { status: 401, code: 'api_key_invalid', asking: { key: 'svc_live_unknown' } },
  'a key without scopes': {
    status: 403,
    code: 'api_key_scope_missing',
    asking: { key: 'svc_live_bare' },
    only: (id) => id !== 'mintWidgetToken',
  },
  'a body that is no JSON': {
    status: 400,
    code: 'VALIDATION_ERROR',
    asking: { body: '{"content":' },
    only: (id) => good[id]!.asking !== undefined,
  },
}

for (const [name, { status, code, asking, only = () => true }] of Object.entries(failures)) {
  test.for(Object.keys(good).filter(only))(`${name}: %s answers ${code}`, async (id) => {
    sandbox.addKey({ key: 'svc_live_bare', scopes: [] })
    const answer = await sendConforming(sandbox, id, good[id]!.path(), { ...good[id]!.asking, ...asking })
    expectProblem(answer, status, code)
  })
}

test.for(['/public/nothing', '/public/conversations/', '/', '/public/conversations/x/y/z'])(
  'a path that is not the API’s (%s) answers NOT_FOUND in the envelope',
  async (path) => {
    expectProblem(await sendRequest(sandbox, path), 404, 'NOT_FOUND')
  },
)

test('the description itself and a page for people are served, and the page needs nothing from elsewhere', async () => {
  const yaml = await sendRequest(sandbox, '/openapi.yaml', { key: null })
  expect(yaml.text).toContain('openapi: 3.1.0')
  const page = await sendRequest(sandbox, '/public/docs', { key: null })
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  for (const { path } of describedOperations.values()) expect(page.text).toContain(path)
  expect(page.text).not.toMatch(/<script|src=|@import|href="http/)
})

function expectProblem(answer: SandboxResponse, status: number, code: string): void {
  expect(answer.status, answer.text).toBe(status)
  expect(answer.body.error).toMatchObject({ code, status })
  expect(answer.body.error.message).toBeTypeOf('string')
  expect(answer.body.data).toBeUndefined()
  expect(answer.body.requestId).toBeTypeOf('string')
}
