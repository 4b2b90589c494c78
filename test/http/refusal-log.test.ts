/** Refused requests are logged at a rate. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { logRefusal } from '../../src/http/refusal-log.ts'
import { captureLog } from './test-server.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('the first refused request of a kind is logged at once, and the others are counted, a line a minute', () => {
  const { log, lines } = captureLog()
  const refuse = (times: number, project = 'shop') => {
    for (let n = 0; n < times; n++)
      logRefusal(log, { event: 'webhook.rejected', project, signed: true })
  }
  const read = () =>
    lines.splice(0).map((line) => JSON.parse(line) as { project: string; refused?: number })
  refuse(5000)
  expect(read()).toMatchObject([{ event: 'webhook.rejected', project: 'shop', signed: true }])
  refuse(2, 'other')
  expect(read()).toMatchObject([{ project: 'other' }])
  vi.advanceTimersByTime(60_000)
  expect(read().map(({ project, refused }) => [project, refused])).toEqual([
    ['shop', 4999],
    ['other', 1],
  ])
  refuse(3)
  vi.advanceTimersByTime(60_000)
  expect(read().map(({ project, refused }) => [project, refused])).toEqual([['shop', 3]])
  vi.advanceTimersByTime(3_600_000)
  expect(read()).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
  refuse(1)
  expect(read()).toMatchObject([{ project: 'shop' }])
})

test('the name of a person makes no other kind', () => {
  const { log, lines } = captureLog()
  for (const person of ['ann', 'bob', null])
    logRefusal(log, { event: 'console.sign_in_refused', person })
  expect(lines).toHaveLength(1)
})
