/** Concurrent work with results in order. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { mapInOrder } from '../../../src/mirror/sync/concurrency.ts'

async function* numbers(count: number, onRead: (n: number) => void = () => {}) {
  for (let n = 1; n <= count; n++) {
    onRead(n)
    yield n
  }
}

const collect = async <T>(items: AsyncIterable<T>, into: T[] = []) => {
  for await (const item of items) into.push(item)
  return into
}

test('results come in the order of the items, whichever ends first', async () => {
  const gates = Array.from({ length: 4 }, () => Promise.withResolvers<void>())
  const ended: number[] = []
  const results = collect(
    mapInOrder(numbers(4), 4, async (n) => {
      await gates[n - 1]!.promise
      ended.push(n)
      // The one before may end now.
      gates[n - 2]?.resolve()
      return n * 10
    }),
  )
  gates[3]!.resolve()
  expect(await results).toEqual([10, 20, 30, 40])
  expect(ended).toEqual([4, 3, 2, 1])
})

test('no more run at the same time than allowed', async () => {
  let running = 0
  let most = 0
  const work = async (n: number) => {
    most = Math.max(most, ++running)
    await nextTurn()
    running--
    return n
  }
  expect(await collect(mapInOrder(numbers(50), 3, work))).toHaveLength(50)
  expect(most).toBe(3)
})

test('after a failure nothing is started, and it is thrown when everything has ended', async () => {
  const slow = Promise.withResolvers<void>()
  const read: number[] = []
  const ended: number[] = []
  const results: number[] = []
  const all = collect(
    mapInOrder(
      numbers(1000, (n) => read.push(n)),
      2,
      async (n) => {
        if (n === 2) {
          setImmediate(slow.resolve)
          throw new Error('the second failed')
        }
        await slow.promise
        ended.push(n)
        return n
      },
    ),
    results,
  )
  await expect(all).rejects.toThrow('the second failed')
  expect({ ended, results }).toEqual({ ended: [1], results: [] })
  expect(read.length).toBeLessThan(5)
})
