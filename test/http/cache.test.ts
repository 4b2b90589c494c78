/** The cache of expensive results: one read at a time, and its result for a while. */
import { expect, test } from 'vitest'
import { cacheResult, withTimeout } from '../../src/http/cache.ts'

test('concurrent calls share one read', async () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  let reads = 0
  const read = cacheResult(
    () => {
      reads += 1
      return promise
    },
    1000,
    () => 0,
  )
  const answers = [read(), read(), read()]
  resolve('the answer')
  expect(await Promise.all(answers)).toEqual(['the answer', 'the answer', 'the answer'])
  expect(reads).toBe(1)
})

test('a failure is not cached', async () => {
  const answers = [() => Promise.reject(new Error('unavailable')), () => Promise.resolve('recovered')]
  const read = cacheResult(
    () => (answers.shift() ?? answers[0]!)(),
    1000,
    () => 0,
  )
  await expect(read()).rejects.toThrow('unavailable')
  expect(await read()).toBe('recovered')
})

test('a call without a response is given up', async () => {
  await expect(withTimeout(20, new Promise(() => {}))).rejects.toThrow('no response within 0.02 s')
})
