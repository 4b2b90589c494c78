import { expect, test, vi } from 'vitest'
import { createChecks } from '../../../src/console/checks.ts'

test('a check that fails for no reason that a person could correct is in the log, as its page says', async () => {
  const checks = createChecks()
  const onBug = vi.fn()
  checks.start('main b', async () => Promise.reject(new TypeError('x is not a function')), onBug)
  await checks.close()
  expect(checks.find('main b')).toEqual({ rows: 0, isRunning: false, failed: 'see the log' })
  expect(onBug).toHaveBeenCalledExactlyOnceWith(new TypeError('x is not a function'))
})
