import { expect, test } from 'vitest'
import { classifyExchange } from '../../src/api/classify.ts'
import { ApiError } from '../../src/core/api-failure.ts'
import { isNotFound } from '../../src/sync/stop.ts'

function answered404(body: string): ApiError {
  const call = { method: 'GET', path: '/public/calls/1', lane: 'fresh' } as const
  const about = { call, askedAt: 0, answeredAt: 0, windowMs: 60_000, redact: (text: string) => text }
  const scanned = { rest: Buffer.from(body), portions: null }
  const outcome = classifyExchange({ kind: 'answered', head: { status: 404, headers: {} }, body: scanned }, about)
  if (outcome.ok) throw new Error('a 404 is a failure')
  return new ApiError(outcome.failure)
}

test('a row is gone when the service says so in its envelope', () => {
  const error = { code: 'NOT_FOUND', message: 'no such row', status: 404, retryable: false }
  expect(isNotFound(answered404(JSON.stringify({ error, requestId: 'r' })))).toBe(true)
})

test('the 404 of a proxy deletes nothing', () => {
  expect(isNotFound(answered404('<html>404 page not found</html>'))).toBe(false)
})
