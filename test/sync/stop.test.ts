import { expect, test } from 'vitest'
import { classify } from '../../src/api/classify.ts'
import { CallFailed } from '../../src/core/failure.ts'
import { isGone } from '../../src/sync/stop.ts'

function answered404(body: string): CallFailed {
  const call = { method: 'GET', path: '/public/calls/1', lane: 'fresh' } as const
  const about = { call, askedAt: 0, answeredAt: 0, windowMs: 60_000, redact: (text: string) => text }
  const scanned = { rest: Buffer.from(body), portions: null }
  const outcome = classify({ kind: 'answered', head: { status: 404, headers: {} }, body: scanned }, about)
  if (outcome.ok) throw new Error('a 404 is a failure')
  return new CallFailed(outcome.failure)
}

test('a row is gone when the service says so in its envelope', () => {
  const error = { code: 'NOT_FOUND', message: 'no such row', status: 404, retryable: false }
  expect(isGone(answered404(JSON.stringify({ error, requestId: 'r' })))).toBe(true)
})

test('the 404 of a proxy deletes nothing', () => {
  expect(isGone(answered404('<html>404 page not found</html>'))).toBe(false)
})
