/** What a response to a write proves: that it was done, that it was not done, or nothing. */
import { expect, test } from 'vitest'
import {
  createTestClient,
  failureOf,
  jsonAnswer,
  readCall,
  startTestService,
  writeCall,
} from './test-service.ts'

const error = { error: { code: 'ODD', message: 'odd' } }

async function failureFrom(status: number, body: unknown, call = writeCall) {
  const service = await startTestService(jsonAnswer(status, body))
  return failureOf(createTestClient(service.url).send(call))
}

test('only some statuses below 500 prove that a write was not done', async () => {
  const refused = [400, 402, 403, 404, 405, 410, 411, 413, 414, 415, 422, 426, 428, 431, 451]
  for (const status of refused)
    expect(await failureFrom(status, error)).toMatchObject({ kind: 'refused', status })
  const open = [406, 407, 408, 409, 412, 416, 417, 418, 421, 423, 424, 425, 444, 460, 499]
  for (const status of [300, 301, 302, 303, 307, 308, 399, ...open])
    expect(await failureFrom(status, error)).toMatchObject({
      kind: 'transient',
      mayHaveBeenSent: true,
      status,
    })
  // A read may be sent again, so the status is enough.
  expect(await failureFrom(409, error, readCall)).toMatchObject({ kind: 'refused' })
})

test.for<[unknown, string | undefined]>([
  [{ ok: false }, 'refused'],
  [{ ok: 0 }, 'refused'],
  [{ success: false, message: 'no' }, 'refused'],
  [{ success: 'false' }, 'refused'],
  [{ data: { success: false } }, 'refused'],
  [{ data: { error: 'no' } }, 'refused'],
  [{ errors: ['no'] }, 'refused'],
  [{ data: null, errors: [{ message: 'no' }] }, 'refused'],
  [{ data: null, errors: { content: 'no' } }, 'refused'],
  [{ error: 'no' }, 'refused'],
  [{ error: true }, 'refused'],
  [{ error: {} }, 'refused'],
  [{ error: { code: 'VALIDATION_ERROR', message: 'no', status: 400 } }, 'refused'],
  [{ status: 'error', message: 'no' }, 'refused'],
  // These may succeed later.
  [{ error: { code: 'rate_limited', message: 'no', status: 429 } }, undefined],
  [{ error: { code: 'INTERNAL', message: 'no', status: 500 } }, undefined],
  [{ error: { code: 'api_key_invalid', message: 'no', status: 401 } }, undefined],
])('a 200 with %j does not prove that a write was done', async ([body, claim]) => {
  const failure = await failureFrom(200, body)
  expect(failure).toMatchObject({ kind: 'transient', mayHaveBeenSent: true, status: 200 })
  expect(failure).toHaveProperty('why', expect.stringMatching(/its body says that it failed: /))
  expect('statedResult' in failure ? failure.statedResult : undefined).toBe(claim)
})

test.for<[number, unknown]>([
  [200, { ok: true, error: null, errors: [] }],
  [200, { data: { status: 'sent', failed: 0, error: '', errors: false } }],
  [201, { data: { id: 7, success: true } }],
  [204, ''],
  [200, ''],
  [200, {}],
])('%d with %j proves that a write was done', async ([status, body]) => {
  const service = await startTestService(jsonAnswer(status, body))
  expect(await createTestClient(service.url).send(writeCall)).toMatchObject({ status })
})

test.for([202, 206, 207, 299])(
  'a %d means that a write will be done later, or in part',
  async (status) => {
    const failure = await failureFrom(status, { data: {} })
    expect(failure).toMatchObject({
      kind: 'transient',
      mayHaveBeenSent: true,
      statedResult: 'accepted',
    })
  },
)
