/** Faults between client and service, and what the sandbox records of them. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type FaultKind, faultKinds } from '../../src/sandbox/faults.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { firstRowPaths, sendRequest } from './requests.ts'

let sandbox: Sandbox
let paths: Awaited<ReturnType<typeof firstRowPaths>>
beforeEach(async () => {
  sandbox = await startSandbox({
    size: { conversations: 20 },
    switches: { 'rate.kind': 'off', 'fault.slowMs': 40, 'fault.hugeMb': 3 },
  })
  paths = await firstRowPaths(sandbox)
})
afterEach(() => sandbox.stop())

const reply = () =>
  sendRequest(sandbox, `${paths.conversation}/messages`, {
    method: 'POST',
    body: { content: 'Hi', senderName: 'Ann' },
  })

/** What a client sees of each fault: a status, or no readable response. */
const visibleResult: Record<FaultKind, number | 'nothing'> = {
  'reset-before': 'nothing',
  'reset-after': 'nothing',
  'error-500': 500,
  'error-500-after': 500,
  'html-502': 502,
  'html-502-after': 502,
  'busy-503': 503,
  'busy-503-retry-after': 503,
  truncated: 'nothing',
  'not-json': 200,
  huge: 'nothing',
  slow: 200,
  'foreign-429': 429,
  'foreign-429-after': 429,
  'html-429': 429,
  'html-429-after': 429,
  redirect: 302,
  status: 409,
  'status-after': 409,
  'says-failed': 200,
  'says-failed-after': 200,
}

test.for(Object.entries(visibleResult) as [FaultKind, number | 'nothing'][])(
  '%s: the client sees %s; the ledger knows whether the write was performed; the log names the fault',
  async ([kind, status]) => {
    sandbox.scriptFault({ kind, operation: 'sendMessage' })
    const response = await reply().catch(() => null)
    if (kind === 'huge') expect(response!.text.length).toBeGreaterThan(3 << 20)
    else expect(response?.status ?? 'nothing').toBe(status)
    expect(sandbox.ledger()).toHaveLength(faultKinds[kind].done ? 1 : 0)
    const [entry] = sandbox.log()
    expect(entry).toMatchObject({ operation: 'sendMessage', fault: kind, write: true })
    expect((await reply()).status).toBe(200)
    expect(sandbox.log()[1]).toMatchObject({ fault: null, status: 200, keyId: 'key_1' })
  },
)

test('a fault can wait for its operation, skip some requests, and occur more than once', async () => {
  sandbox.scriptFault({ kind: 'busy-503', operation: 'getConversation', skip: 1, times: 2 })
  const statuses: number[] = []
  for (let n = 0; n < 4; n += 1) {
    statuses.push((await sendRequest(sandbox, paths.conversation)).status)
    await reply()
  }
  expect(statuses).toEqual([200, 503, 503, 200])
})

test('random faults are seeded: the same requests get the same faults, at about the requested rate', async () => {
  const run = async () => {
    const seeded = await startSandbox({
      switches: { 'rate.kind': 'off', 'fault.rate': 0.25, 'fault.kinds': 'error-500,busy-503' },
    })
    const path = `/public/projects/${seeded.projectId}/availability`
    const statuses: number[] = []
    for (let n = 0; n < 200; n += 1) statuses.push((await sendRequest(seeded, path)).status)
    await seeded.stop()
    return statuses
  }
  const [first, second] = [await run(), await run()]
  expect(first).toEqual(second)
  const faulty = first.filter((status) => status >= 500).length
  expect(faulty).toBeGreaterThan(25)
  expect(faulty).toBeLessThan(75)
  expect(new Set(first)).toEqual(new Set([200, 500, 503]))
})

test('faults can be limited to reads or to writes', async () => {
  sandbox.setSwitches({ 'fault.rate': 1, 'fault.kinds': 'error-500', 'fault.on': 'reads' })
  expect((await reply()).status).toBe(200)
  expect((await sendRequest(sandbox, paths.conversation)).status).toBe(500)
  sandbox.setSwitches({ 'fault.on': 'writes' })
  expect((await reply()).status).toBe(500)
  expect((await sendRequest(sandbox, paths.conversation)).status).toBe(200)
})

test('neither the log nor the ledger contains a key, and responses have the configured latency', async () => {
  sandbox.setSwitches({ 'latency.before': 30, 'latency.after': 30 })
  const before = performance.timeOrigin + performance.now()
  await reply()
  await sendRequest(sandbox, paths.conversation, {
    key: null,
    headers: { 'x-api-key': sandbox.key },
  })
  const [entry] = sandbox.log()
  expect(entry!.arrivedAt - before).toBeGreaterThanOrEqual(28)
  expect(entry!.answeredAt! - entry!.arrivedAt).toBeGreaterThanOrEqual(28)
  expect(JSON.stringify([sandbox.log(), sandbox.ledger()])).not.toContain(sandbox.key)
})

test('every form of error that the documentation leaves open is available', async () => {
  const invalidRequest = async () =>
    (await sendRequest(sandbox, `${paths.base}/conversations?limit=0`)).body
  sandbox.setSwitches({
    'errors.issues': 'field',
    'errors.context': 'envelope',
    'errors.retryable': 'absent',
  })
  const { error, context } = await invalidRequest()
  expect([error.context, error.retryable, context.issues[0].field]).toEqual([
    undefined,
    undefined,
    'limit',
  ])
  sandbox.setSwitches({
    'errors.issues': 'string',
    'errors.context': 'error',
    'errors.retryable': 'always',
  })
  expect((await invalidRequest()).error).toMatchObject({
    retryable: true,
    context: { issues: [expect.stringContaining('limit')] },
  })
})

test('an accepted write returns 200 or 201 with the row, or 204 without a body', async () => {
  expect((await reply()).body.data.content).toBe('Hi')
  sandbox.setSwitches({ 'writes.answer': '201' })
  expect((await reply()).status).toBe(201)
  sandbox.setSwitches({ 'writes.answer': '204' })
  const { status, text } = await reply()
  expect([status, text]).toEqual([204, ''])
  expect(sandbox.ledger().map(({ operation, body }) => [operation, body])).toEqual(
    Array.from({ length: 3 }, () => ['sendMessage', { content: 'Hi', senderName: 'Ann' }]),
  )
})

test('an unknown switch or value is refused and changes nothing', () => {
  const before = sandbox.switches()
  expect(() => sandbox.setSwitches({ 'rate.kind': 'often' } as never)).toThrow(
    /rate.kind cannot be often; it can be sliding \| fixed/,
  )
  expect(() => sandbox.setSwitches({ speed: 3 } as never)).toThrow('there is no switch speed')
  expect(() => sandbox.setSwitches({ 'fault.kinds': 'flood' })).toThrow(
    /^there is no fault flood; there are .*reset-before/,
  )
  expect(() => sandbox.setSwitches({ 'rate.limit': Number.NaN })).toThrow('rate.limit')
  expect(sandbox.switches()).toEqual(before)
})
