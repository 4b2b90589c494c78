import { expect, test } from 'vitest'
import { classifyExchange } from '../../../src/service/classify-response.ts'
import { ApiError, isNotFound } from '../../../src/service/core/api-failure.ts'

function answered404(body: string): ApiError {
  const request = { method: 'GET', path: '/public/calls/1', priority: 'fresh' } as const
  const redact = (text: string) => text
  const context = { request, requestedAt: 0, receivedAt: 0, defaultRetryAfterMs: 60_000, redact }
  const split = { rest: Buffer.from(body), batches: null }
  const outcome = classifyExchange(
    { kind: 'complete', head: { status: 404, headers: {} }, body: split },
    context,
  )
  if (outcome.ok) throw new Error('a 404 must be a failure')
  return new ApiError(outcome.failure)
}

test('a row is gone if the service says so in its envelope', () => {
  const error = { code: 'NOT_FOUND', message: 'no such row', status: 404, retryable: false }
  expect(isNotFound(answered404(JSON.stringify({ error, requestId: 'r' })))).toBe(true)
})

test('a 404 of a proxy deletes nothing', () => {
  expect(isNotFound(answered404('<html>404 page not found</html>'))).toBe(false)
})
