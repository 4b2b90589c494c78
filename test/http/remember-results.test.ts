/** Expensive results: one read at a time, and its result for a while. */
import { expect, test } from 'vitest'
import { rememberResults, withTimeout } from '../../src/http/remember-results.ts'

test('concurrent calls share one read', async () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  let reads = 0
  const { get } = rememberResults({
    maxAgeMs: 1000,
    now: () => 0,
    read: () => {
      reads += 1
      return promise
    },
  })
  const answers = [get('', null), get('', null), get('', null)]
  resolve('the answer')
  expect(await Promise.all(answers)).toEqual(['the answer', 'the answer', 'the answer'])
  expect(reads).toBe(1)
})

test('a result may hold for less long than another', async () => {
  let now = 0
  let reads = 0
  const { get } = rememberResults({
    maxAgeMs: (value: string) => (value === 'so far 1' ? 10 : 1000),
    now: () => now,
    read: async () => {
      reads += 1
      return `so far ${reads}`
    },
  })
  const answers: string[] = []
  for (now of [0, 9, 10, 1009, 1010]) answers.push(await get('', null))
  expect(answers).toEqual(['so far 1', 'so far 1', 'so far 2', 'so far 2', 'so far 3'])
})

test('a failure is not remembered', async () => {
  const answers = [
    () => Promise.reject(new Error('unavailable')),
    () => Promise.resolve('recovered'),
  ]
  const { get } = rememberResults({
    maxAgeMs: 1000,
    now: () => 0,
    read: (): Promise<string> => (answers.shift() ?? answers[0]!)(),
  })
  const read = () => get('', null)
  await expect(read()).rejects.toThrow('unavailable')
  expect(await read()).toBe('recovered')
})

test('whoever asks after a failure behind a wait gets the failure, and later it is read again', async () => {
  let now = 0
  const reads = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
  const left = reads.map(({ promise }) => promise)
  const { soon } = rememberResults({
    maxAgeMs: 1000,
    now: () => now,
    read: async () => left.shift() ?? '',
  })
  const ask = () => soon('', null, 1)
  expect(await ask()).toBe(null)
  reads[0]?.reject(new Error('disk I/O error'))
  await new Promise(setImmediate)
  await expect(ask()).rejects.toThrow('disk I/O error')
  await expect(ask()).rejects.toThrow('disk I/O error')
  now = 60_000
  expect(await ask()).toBe(null)
  reads[1]?.resolve('counted')
  await new Promise(setImmediate)
  expect(await ask()).toBe('counted')
})

test('a call without a response is given up', async () => {
  await expect(withTimeout(20, new Promise(() => {}))).rejects.toThrow('no response within 0.02 s')
})
