import { expect, test } from 'vitest'
import { QueueUnavailableError } from '../../jobs/backends/backend.ts'
import { nameServer } from '../../jobs/backends/bullmq/store-errors.ts'

test('the server is named where it does not answer, and not for a mistake of the program', () => {
  const away = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  expect(nameServer('redis://queue:6379', away)).toBeInstanceOf(QueueUnavailableError)
  const mistake = Object.assign(new TypeError('must be a string'), { code: 'ERR_INVALID_ARG_TYPE' })
  expect(nameServer('redis://queue:6379', mistake)).toBe(mistake)
})
