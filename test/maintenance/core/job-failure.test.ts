import { expect, test } from 'vitest'
import { failedStream, failedSync } from '../../../src/maintenance/core/job-failure.ts'

test.for([
  ['sync', 'messages/incremental', 'messages'],
  ['sync', 'conversations/reconcile', 'conversations'],
  // Its syncs go on.
  ['sync', 'conversations/audit', null],
  ['sync', 'letters/incremental', null],
  ['writebacks', 'conversation/7', null],
] as const)('a failing job %s %s keeps the stream %s from being read', ([job, key, stream]) => {
  expect(failedStream({ job, key })).toBe(stream)
})

test('a failing audit has its stream and mode, so that it can be enqueued again', () => {
  expect(failedSync({ job: 'sync', key: 'visitors/audit' })).toEqual({
    stream: 'visitors',
    mode: 'audit',
  })
})
