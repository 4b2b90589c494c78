import { pino } from 'pino'
import { expect, test } from 'vitest'
import { QueueUnavailableError } from '../../jobs/backends/backend.ts'
import { createRedisErrorLog, nameServer } from '../../jobs/backends/bullmq/redis-errors.ts'

test('the server is named where it does not answer, and not for a mistake of the program', () => {
  const away = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  expect(nameServer('redis://queue:6379', away)).toBeInstanceOf(QueueUnavailableError)
  const mistake = Object.assign(new TypeError('must be a string'), { code: 'ERR_INVALID_ARG_TYPE' })
  expect(nameServer('redis://queue:6379', mistake)).toBe(mistake)
})

test('locks of jobs that ended during an outage are part of it', () => {
  const events: string[] = []
  const log = pino({}, { write: (line: string) => events.push(JSON.parse(line).event) })
  const { onError, stop } = createRedisErrorLog(
    { server: 'redis', ping: async () => {} },
    log,
    () => {},
  )
  const lost = ['could not renew lock for job 254', 'Missing lock for job 256. moveToDelayed']
  onError(new Error(lost[0]))
  onError(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))
  for (const message of lost) onError(new Error(message))
  stop()
  expect(events).toEqual(['queue.failed', 'queue.disconnected'])
})
