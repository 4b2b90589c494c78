/**
 * One specification for all stores of budgets: each decides as the pure budget does, and fails
 * closed.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { acquireSlot, type PendingRequest } from '../../../src/service/core/acquire-slot.ts'
import { priorities } from '../../../src/service/core/api-request.ts'
import {
  budgetView,
  initialBudgetState,
  recordThrottle,
  releaseSlot,
  type Slot,
} from '../../../src/service/core/budget.ts'
import type { BudgetRecord } from '../../../src/service/core/budget-record.ts'
import {
  type BudgetStore,
  createMemoryStore,
} from '../../../src/service/rate-limit/budget-store.ts'
import { createRequestBudget } from '../../../src/service/rate-limit/request-budget.ts'
import {
  createTestStore,
  inMemoryRecord,
  overwriteRecord,
  recordStores,
  testPolicy,
  unusedKey,
} from './record-stores.ts'

const maxDurationMs = 31_000
const read: PendingRequest = { priority: 'fresh', write: false, maxDurationMs }
const { windowMs } = testPolicy.rate
const closedMs = maxDurationMs + windowMs

async function granted(store: BudgetStore, processId = 'me'): Promise<Slot> {
  const decision = await store.acquire(processId, [read])
  if ('slot' in decision) return decision.slot
  throw new Error('no slot')
}

type Operation =
  | {
      readonly do: 'acquire'
      readonly processId: string
      readonly pending: readonly PendingRequest[]
    }
  | { readonly do: 'release' | 'unsent' | 'throttle'; readonly which: number }

const pendingRequest = fc.record({
  priority: fc.constantFrom(...priorities),
  write: fc.boolean(),
  maxDurationMs: fc.constant(maxDurationMs),
})
const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('acquire' as const),
      processId: fc.constantFrom('a', 'b'),
      pending: fc.array(pendingRequest, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('release', 'unsent', 'throttle'),
      which: fc.nat(),
    }),
  },
)

/**
 * Applies the same operations to the store and to the pure budget, at the times of the store's
 * clock.
 */
async function compare(
  stores: readonly BudgetStore[],
  now: () => number,
  operations: readonly Operation[],
) {
  let state = initialBudgetState
  const slots: Slot[] = []
  for (const [index, operation] of operations.entries()) {
    const store = stores[index % stores.length]!
    if (operation.do === 'acquire') {
      const decision = await store.acquire(operation.processId, operation.pending)
      const model = acquireSlot(testPolicy, state, now(), operation.processId, operation.pending)
      expect(decision).toEqual(model.decision)
      if ('slot' in decision) slots.push(decision.slot)
      state = model.state
    } else if (slots.length > 0) {
      const slot = slots[operation.which % slots.length]!
      if (operation.do === 'throttle') {
        await store.recordThrottle(slot, 20)
        state = recordThrottle(testPolicy, state, now(), slot, 20)
      } else {
        const ending = operation.do === 'release' ? 'responded' : 'unsent'
        await store.release(slot, ending)
        state = releaseSlot(testPolicy, state, now(), slot, ending)
      }
    }
    expect(await store.view()).toEqual(budgetView(testPolicy, state, now()))
  }
}

/** Records the last reading of the store's clock, and counts swaps. */
function observed(record: BudgetRecord) {
  const observations = { now: 0, swaps: 0 }
  const observedRecord: BudgetRecord = {
    read: async () => {
      const reading = await record.read()
      observations.now = reading.now
      return reading
    },
    compareAndSet: (seen, text) => {
      observations.swaps += 1
      return record.compareAndSet(seen, text)
    },
  }
  return { record: observedRecord, observations }
}

test('in memory: it decides as the pure budget does', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 30 }), async (operations) => {
      const clock = 1000
      await compare([createMemoryStore(testPolicy, () => clock)], () => clock, operations)
    }),
    { numRuns: 30 },
  )
})

for (const recordStore of recordStores) {
  describe(`kept in ${recordStore.name}`, () => {
    test('two processes get the decisions of the pure budget', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(operation, { minLength: 10, maxLength: 30 }),
          async (operations) => {
            const location = await recordStore.make()
            const { record, observations } = observed(await location.connect())
            await location.deleteRecord()
            const stores = [createTestStore(record).store, createTestStore(record).store]
            await compare(stores, () => observations.now, operations)
          },
        ),
        { numRuns: 5 },
      )
    })

    test('concurrent processes never get more slots than there are, and none is lost', async () => {
      const location = await recordStore.make()
      const stores = await Promise.all(
        [1, 2, 3].map(async () => createTestStore(await location.connect()).store),
      )
      const ample = Array.from({ length: 40 }, () =>
        stores.map((store) => store.acquire('all', [read])),
      )
      const decisions = await Promise.all(ample.flat())
      const slots = decisions.flatMap((decision) => ('slot' in decision ? decision.slot : []))
      // 98 slots, a fifth of them without a pace.
      expect(slots.length).toBeGreaterThanOrEqual(19)
      expect(slots.length).toBeLessThanOrEqual(25)
      expect(await stores[1]!.view()).toMatchObject({ inUse: slots.length })
      await Promise.all(slots.map((slot, index) => stores[index % 3]!.release(slot, 'unsent')))
      expect(await stores[2]!.view()).toMatchObject({ inUse: 0 })
    })

    test('operations requested at the same time cost one write', async () => {
      const location = await recordStore.make()
      const { record, observations } = observed(await location.connect())
      const { store } = createTestStore(record)
      const slots = await Promise.all(Array.from({ length: 10 }, () => granted(store)))
      await Promise.all([granted(store), ...slots.map((slot) => store.release(slot, 'unsent'))])
      expect(observations.swaps).toBe(2)
      expect(await store.view()).toMatchObject({ inUse: 1 })
    })

    test('a 429 of one process pauses the other', async () => {
      const location = await recordStore.make()
      const { store: one } = createTestStore(await location.connect())
      const { store: other } = createTestStore(await location.connect())
      await one.recordThrottle(await granted(one), 5000)
      expect(await other.acquire('other', [read])).toHaveProperty('waitMs')
      expect(await other.view()).toMatchObject({ throttled: 1, closedForMs: null })
    })

    test('a lost record closes the budget for all, and one process reports it', async () => {
      const location = await recordStore.make()
      const processes = await Promise.all(
        [1, 2, 3].map(async () => createTestStore(await location.connect())),
      )
      for (const { store } of processes) await granted(store)
      await location.deleteRecord()
      const decisions = await Promise.all(processes.map(({ store }) => store.acquire('me', [read])))
      for (const decision of decisions) expect(decision).toHaveProperty('waitMs')
      for (const { store } of processes) {
        const { closedForMs } = await store.view()
        expect(closedForMs).toBeGreaterThan(closedMs - 5000)
        expect(closedForMs).toBeLessThanOrEqual(closedMs)
      }
      expect(processes.flatMap(({ lost }) => lost)).toEqual(['its record is gone'])
    })

    test('a process that starts without a record gets a slot only if the key is known to be unused', async () => {
      const location = await recordStore.make()
      const usedKey = { ...unusedKey, isUnusedFor: async () => false }
      const doubting = createTestStore(await location.connect(), { keyUse: usedKey })
      expect(await doubting.store.acquire('me', [read])).toHaveProperty('waitMs')
      expect(doubting.lost).toHaveLength(1)
      // One that begins while it is closed, as after a restart, says so once, too.
      const restarted = createTestStore(await location.connect(), { keyUse: usedKey })
      for (let n = 0; n < 2; n += 1)
        expect(await restarted.store.acquire('it', [read])).toHaveProperty('waitMs')
      expect(restarted.lost).toEqual([null])
      await location.deleteRecord()
      const unknownKey = { ...unusedKey, isUnusedFor: () => Promise.reject(new Error('not known')) }
      const failing = createTestStore(await location.connect(), { keyUse: unknownKey })
      expect(await failing.store.acquire('me', [read])).toHaveProperty('waitMs')
      await location.deleteRecord()
      const certain = createTestStore(await location.connect())
      expect(await certain.store.acquire('me', [read])).toHaveProperty('slot')
      expect(certain.lost).toEqual([])
    })

    test('processes that start together all get slots, although each records its use of the key', async () => {
      const location = await recordStore.make()
      let used = false
      const use = {
        isUnusedFor: async () => !used,
        recordUse: async () => {
          used = true
        },
      }
      const start = async () => createTestStore(await location.connect(), { keyUse: use })
      const processes = await Promise.all([1, 2, 3, 4].map(start))
      const decisions = await Promise.all(processes.map(({ store }) => store.acquire('me', [read])))
      for (const decision of decisions) expect(decision).toHaveProperty('slot')
      expect(used).toBe(true)
    })

    test('no slot is granted if the use of the key cannot be recorded', async () => {
      const location = await recordStore.make()
      const use = { ...unusedKey, recordUse: () => Promise.reject(new Error('read only')) }
      const { store } = createTestStore(await location.connect(), { keyUse: use })
      await expect(store.acquire('me', [read])).rejects.toThrow('read only')
    })

    test('a record that is unreadable, or older than the last one seen, closes the budget', async () => {
      const location = await recordStore.make()
      const record = await location.connect()
      const { store, lost } = createTestStore(record)
      await granted(store)
      const backup = (await record.read()).text!
      await granted(store)
      await overwriteRecord(record, backup)
      expect(await store.acquire('me', [read])).toHaveProperty('waitMs')
      await overwriteRecord(record, 'not a record')
      expect(await store.acquire('me', [read])).toHaveProperty('waitMs')
      expect(lost).toEqual([
        expect.stringContaining('older'),
        expect.stringContaining('unreadable'),
      ])
    })

    test('a swap that is late, or repeated, changes nothing', async () => {
      const location = await recordStore.make()
      const record = await location.connect()
      const empty = await record.read()
      expect(await record.compareAndSet({ ...empty, now: empty.now - 1500 }, 'late')).toMatchObject(
        { swapped: false },
      )
      const first = await record.compareAndSet(empty, 'first')
      expect(first).toMatchObject({ swapped: true, reading: { text: 'first', restarted: false } })
      expect(await record.compareAndSet(empty, 'again')).toMatchObject({
        swapped: false,
        reading: { text: 'first' },
      })
      const stale = { ...first.reading, now: first.reading.now - 1500 }
      expect(await record.compareAndSet(stale, 'late')).toMatchObject({ swapped: false })
      expect(await record.compareAndSet(first.reading, 'second')).toMatchObject({ swapped: true })
      expect(await (await location.connect()).read()).toMatchObject({
        text: 'second',
        restarted: false,
      })
    })
  })
}

describe('the clock of the store', () => {
  /** Two processes; their own clock and the store's clock both run. */
  async function world() {
    const location = inMemoryRecord({ now: 1e12 })
    const own = { now: 0 }
    const start = () => createTestStore(location.record, { monotonic: () => own.now })
    const advance = (ms: number) => {
      location.clock.now += ms
      own.now += ms
    }
    const [one, other] = [start(), start()]
    for (const { store } of [one, other]) await granted(store)
    return { ...location, own, one, other, advance, start }
  }

  test('that is set forward closes the budget once, for all processes', async () => {
    const { clock, one, other, advance } = await world()
    advance(10_000)
    clock.now += 45_000
    expect(await one.store.acquire('me', [read])).toHaveProperty('waitMs')
    expect(await other.store.acquire('me', [read])).toHaveProperty('waitMs')
    expect([...one.lost, ...other.lost]).toEqual([expect.stringContaining('set forward by 45.0 s')])
  })

  test('that is set back closes the budget once, for all processes, and for no longer', async () => {
    const { clock, one, other, advance } = await world()
    clock.now -= 3_600_000
    expect(await one.store.acquire('me', [read])).toHaveProperty('waitMs')
    advance(closedMs - 10)
    expect(await other.store.acquire('me', [read])).toHaveProperty('waitMs')
    advance(10)
    expect(await other.store.acquire('me', [read])).toHaveProperty('slot')
    expect([...one.lost, ...other.lost]).toEqual([expect.stringContaining('set back')])
  })

  test('is not trusted for once where the clocks of the processes go back', async () => {
    const { own, one, other, advance } = await world()
    own.now -= 3_600_000
    expect(await one.store.acquire('me', [read])).toHaveProperty('waitMs')
    advance(closedMs - 10)
    expect(await other.store.acquire('me', [read])).toHaveProperty('waitMs')
    advance(10)
    for (const { store } of [one, other])
      expect(await store.acquire('me', [read])).toHaveProperty('slot')
    expect([...one.lost, ...other.lost]).toEqual([expect.stringContaining('set forward')])
  })

  test('that runs ahead a little again and again closes the budget before the margin is used up', async () => {
    const { clock, one, other, advance } = await world()
    for (let step = 0; step < 5; step += 1) {
      advance(1000)
      clock.now += 90
      expect(await one.store.acquire('me', [read])).toHaveProperty('slot')
    }
    // What lies a window back no longer counts.
    advance(windowMs)
    await one.store.view()
    clock.now += 490
    expect(await one.store.acquire('me', [read])).toHaveProperty('slot')
    clock.now += 20
    expect(await one.store.acquire('me', [read])).toHaveProperty('waitMs')
    expect(await other.store.acquire('me', [read])).toHaveProperty('waitMs')
    expect([...one.lost, ...other.lost]).toEqual([expect.stringContaining('ran ahead by 0.5 s')])
  })

  test('that jumps back by less than a second, and forward again, changes nothing', async () => {
    const { clock, one, other } = await world()
    clock.now -= 800
    expect(await one.store.acquire('me', [read])).toHaveProperty('slot')
    clock.now += 900
    expect(await other.store.acquire('me', [read])).toHaveProperty('slot')
    expect(await one.store.view()).toMatchObject({ inUse: 4, closedForMs: null })
  })

  test('that advances while no process reads it does not close the budget', async () => {
    const { one, advance } = await world()
    advance(30 * 86_400_000)
    expect(await one.store.acquire('me', [read])).toHaveProperty('slot')
  })

  test('of a store that restarted is not trusted', async () => {
    const { state, one, other } = await world()
    state.restarted = true
    expect(await one.store.acquire('me', [read])).toHaveProperty('waitMs')
    expect(await other.store.acquire('me', [read])).toHaveProperty('waitMs')
    expect([...one.lost, ...other.lost]).toEqual([expect.stringContaining('restarted')])
  })
})

describe('a store that cannot be reached', () => {
  test('grants no slot until it is back', async () => {
    const { record, state } = inMemoryRecord()
    const { store } = createTestStore(record)
    const slot = await granted(store)
    state.down = true
    const requested = [store.acquire('me', [read]), store.release(slot, 'responded'), store.view()]
    for (const pending of requested) await expect(pending).rejects.toThrow('connection refused')
    state.down = false
    expect(await store.acquire('me', [read])).toHaveProperty('slot')
  })
})

describe('a process that was suspended', () => {
  const suspended = async (ms: number) => {
    const own = { now: 0 }
    const memory = createMemoryStore(testPolicy)
    let takes = 0
    const slow: BudgetStore = {
      ...memory,
      acquire: async (...requested) => {
        takes += 1
        const decision = await memory.acquire(...requested)
        if (takes === 1) own.now += ms
        return decision
      },
    }
    const budget = createRequestBudget(slow, 'me', () => own.now)
    return { own, budget, memory, takes: () => takes }
  }

  test('between request and grant requests again, and releases the old slot', async () => {
    const { budget, memory, takes } = await suspended(1500)
    await budget.acquire(read)
    expect(takes()).toBe(2)
    expect(await memory.view()).toMatchObject({ inUse: 1 })
  })

  test('for less than a second continues', async () => {
    const { budget, takes } = await suspended(900)
    await budget.acquire(read)
    expect(takes()).toBe(1)
  })

  test('after its grant may not send after its deadline', async () => {
    const { budget, own } = await suspended(0)
    const grant = await budget.acquire(read)
    own.now += maxDurationMs - 1
    expect(grant.remainingMs()).toBeGreaterThan(0)
    own.now += 1
    expect(grant.remainingMs()).toBeLessThanOrEqual(0)
  })
})
