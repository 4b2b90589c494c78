/** An expensive answer: asked for once at a time, kept for a while. */
import { expect, test } from 'vitest'
import { cacheResult, withTimeout } from '../../src/http/cache.ts'

test('whoever asks while the answer is under way waits for the same one', async () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  let asked = 0
  const ask = cacheResult(
    () => {
      asked += 1
      return promise
    },
    1000,
    () => 0,
  )
  const answers = [ask(), ask(), ask()]
  resolve('the answer')
  expect(await Promise.all(answers)).toEqual(['the answer', 'the answer', 'the answer'])
  expect(asked).toBe(1)
})

test('a failure is not kept', async () => {
  const answers = [() => Promise.reject(new Error('away')), () => Promise.resolve('back')]
  const ask = cacheResult(
    () => (answers.shift() ?? answers[0]!)(),
    1000,
    () => 0,
  )
  await expect(ask()).rejects.toThrow('away')
  expect(await ask()).toBe('back')
})

test('a question that nobody answers is given up', async () => {
  await expect(withTimeout(20, new Promise(() => {}))).rejects.toThrow('no answer within 0.02 s')
})
