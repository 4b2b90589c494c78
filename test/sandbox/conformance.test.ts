/** Every response of every operation matches the API description, whatever the switches. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { operations } from '../../src/sandbox/endpoints.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import {
  describedOperations,
  description,
  firstRowPaths,
  type SandboxRequest,
  type SandboxResponse,
  sendConforming,
  sendRequest,
} from './requests.ts'

let sandbox: Sandbox
let paths: Awaited<ReturnType<typeof firstRowPaths>>
beforeAll(async () => {
  sandbox = await startSandbox({ seed: 11, switches: { 'rate.kind': 'off' } })
  paths = await firstRowPaths(sandbox)
})
afterAll(() => sandbox.stop())

type Case = { path: () => string; options?: SandboxRequest }
const range = 'from=2026-05-01T00:00:00Z&to=2026-05-31T00:00:00Z'

/** One valid request for each operation. */
const validRequests: Record<string, Case> = {
  listConversations: { path: () => `${paths.base}/conversations?limit=200` },
  getConversation: { path: () => paths.conversation },
  listMessages: { path: () => `${paths.conversation}/messages` },
  sendMessage: {
    path: () => `${paths.conversation}/messages`,
    options: { method: 'POST', body: { content: 'Hi', senderName: 'Ann' } },
  },
  setHandled: {
    path: () => `${paths.conversation}/handled`,
    options: { method: 'POST', body: { handled: true } },
  },
  listVisitors: { path: () => `${paths.base}/visitors?limit=200` },
  getVisitor: { path: () => paths.visitor },
  updateVisitor: {
    path: () => paths.visitor,
    options: { method: 'PATCH', body: { name: 'Ann', email: null } },
  },
  listActivity: { path: () => `${paths.visitor}/activity` },
  addNote: {
    path: () => `${paths.visitor}/notes`,
    options: { method: 'POST', body: { content: 'Prefers mornings' } },
  },
  listCalls: { path: () => `${paths.base}/calls?${range}` },
  getCall: { path: () => paths.call },
  getRecording: { path: () => `${paths.call}/recording` },
  getAnalytics: { path: () => `${paths.base}/analytics?${range}` },
  getAvailability: { path: () => `${paths.base}/availability` },
  mintWidgetToken: {
    path: () => '/v1/widget/token',
    options: {
      method: 'POST',
      body: { visitor: { email: 'a@b.c', name: 'A', company: 'C' }, metadata: { a: 1 }, ttl: 60 },
    },
  },
}

test('the description has the fifteen operations and the widget token, and the sandbox serves exactly those', () => {
  expect([...describedOperations.keys()].sort()).toEqual(Object.keys(validRequests).sort())
  expect(operations.map(({ id, method, path, scope }) => ({ id, method, path, scope }))).toEqual(
    [...describedOperations.entries()]
      .filter(([id]) => id !== 'mintWidgetToken')
      .map(([id, op]) => ({
        id,
        method: op.method.toUpperCase(),
        path: op.path,
        scope: (op as unknown as Record<string, string>)['x-scope'],
      }))
      .sort((a, b) => indexOf(a.id) - indexOf(b.id)),
  )
})
const indexOf = (id: string) => operations.findIndex((operation) => operation.id === id)

const formats = [
  {},
  {
    'visitors.fields': 'nested',
    'calls.fields': 'nested',
    'activity.fields': 'nested',
    'writes.answer': '201',
  },
  {
    'visitors.fields': 'snake',
    'calls.fields': 'snake',
    'activity.fields': 'snake',
    'fields.drift': 2,
  },
  { 'conversations.updatedAt': true, 'fields.drift': 1, gzip: true },
] as const

for (const switches of formats) {
  describe(`with ${JSON.stringify(switches)}`, () => {
    test.for(Object.entries(validRequests))(
      '%s matches the description',
      async ([id, { path, options }]) => {
        sandbox.setSwitches(switches)
        const response = await sendConforming(sandbox, id, path(), options)
        expect(response.status, response.text).toBeGreaterThanOrEqual(200)
        expect(response.status, response.text).toBeLessThan(300)
        expect(response.body.requestId).toBeTypeOf('string')
        expect(response.body.error).toBeUndefined()
      },
    )
  })
}

const failures: Record<
  string,
  { status: number; code: string; options: SandboxRequest; only?: (id: string) => boolean }
> = {
  'no credential': { status: 401, code: 'api_key_missing', options: { key: null } },
  'an unknown key': { status: 401, code: 'api_key_invalid', options: { key: 'svc_live_unknown' } },
  'a key without scopes': {
    status: 403,
    code: 'api_key_scope_missing',
    options: { key: 'svc_live_bare' },
    only: (id) => id !== 'mintWidgetToken',
  },
  'a body that is not JSON': {
    status: 400,
    code: 'VALIDATION_ERROR',
    options: { body: '{"content":' },
    only: (id) => validRequests[id]!.options !== undefined,
  },
}

for (const [name, { status, code, options, only = () => true }] of Object.entries(failures)) {
  test.for(Object.keys(validRequests).filter(only))(`${name}: %s returns ${code}`, async (id) => {
    sandbox.addKey({ key: 'svc_live_bare', scopes: [] })
    const response = await sendConforming(sandbox, id, validRequests[id]!.path(), {
      ...validRequests[id]!.options,
      ...options,
    })
    expectProblem(response, status, code)
  })
}

test.for(['/public/nothing', '/public/conversations/', '/', '/public/conversations/x/y/z'])(
  'an unknown path (%s) returns NOT_FOUND in the envelope',
  async (path) => {
    expectProblem(await sendRequest(sandbox, path), 404, 'NOT_FOUND')
  },
)

test('the description and a documentation page are served, and the page is self-contained', async () => {
  const yaml = await sendRequest(sandbox, '/openapi.yaml', { key: null })
  expect(parse(yaml.text)).toEqual(description)
  const page = await sendRequest(sandbox, '/public/docs', { key: null })
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  for (const { path } of describedOperations.values()) expect(page.text).toContain(path)
  expect(page.text).not.toMatch(/<script|src=|@import|href="http/)
})

function expectProblem(response: SandboxResponse, status: number, code: string): void {
  expect(response.status, response.text).toBe(status)
  expect(response.body.error).toMatchObject({ code, status })
  expect(response.body.error.message).toBeTypeOf('string')
  expect(response.body.data).toBeUndefined()
  expect(response.body.requestId).toBeTypeOf('string')
}
