/** One specification for every store of budgets: wherever it is kept, it decides as the budget does, and fails closed. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createRequestBudget } from '../../../src/api/rate-limit/request-budget.ts'
import { createMemoryStore } from '../../../src/api/rate-limit/state-store.ts'
import {
  type PendingRequest,
  type SlotDecision,
  initialBudgetState,
  type Slot,
  recordPriorUsage,
  releaseSlot,
  acquireSlot,
  recordThrottle,
} from '../../../src/core/rate-limit/budget.ts'
import type { BudgetRecord } from '../../../src/core/rate-limit/budget-record.ts'
import { budgetView } from '../../../src/core/rate-limit/estimate.ts'
import type { BudgetStore } from '../../../src/core/rate-limit/budget-store.ts'
import { priorities } from '../../../src/core/rate-limit/priority.ts'
import { inMemoryRecord, recordStores, unusedKey, overwriteRecord, testPolicy, createTestStore } from './record-stores.ts'

const deadlineMs = 31_000
const read: PendingRequest = { priority: 'fresh', write: false, deadlineMs }
const closedMs = deadlineMs + testPolicy.rate.windowMs

async function granted(store: BudgetStore, holder = 'me'): Promise<Slot> {
  const decision = await store.acquire(holder, [read])
  if ('lease' in decision) return decision.lease
  throw new Error('no slot')
}

type Play =
  | { readonly do: 'take'; readonly holder: string; readonly asks: readonly PendingRequest[] }
  | { readonly do: 'settle' | 'unsent' | 'throttle'; readonly which: number }
  | { readonly do: 'seed'; readonly requests: number }

const ask = fc.record({ lane: fc.constantFrom(...priorities), write: fc.boolean(), deadlineMs: fc.constant(deadlineMs) })
const play: fc.Arbitrary<Play> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('take' as const),
      holder: fc.constantFrom('a', 'b'),
      asks: fc.array(ask, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('settle' as const, 'unsent' as const, 'throttle' as const),
      which: fc.nat(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('seed' as const), requests: fc.nat(30) }) },
)

/** The same plays on the store and on the pure budget, at the moments that the store's keeper gave. */
async function compare(stores: readonly BudgetStore[], now: () => number, plays: readonly Play[]) {
  let state = initialBudgetState
  const leases: Slot[] = []
  for (const [turn, one] of plays.entries()) {
    const store = stores[turn % stores.length]!
    if (one.do === 'take') {
      const decision: SlotDecision = await store.acquire(one.holder, one.asks)
      const model = acquireSlot(testPolicy, state, now(), one.holder, one.asks)
      expect(decision).toEqual(model.decision)
      if ('lease' in decision) leases.push(decision.lease)
      state = model.state
    } else if (one.do === 'seed') {
      const spent = { requests: one.requests, writes: 0, agoMs: 0 }
      await store.recordPriorUsage(spent)
      state = recordPriorUsage(testPolicy, state, now(), spent)
    } else if (leases.length > 0) {
      const lease = leases[one.which % leases.length]!
      if (one.do === 'throttle') {
        await store.recordThrottle(lease, 20)
        state = recordThrottle(testPolicy, state, now(), lease, 20)
      } else {
        const ending = one.do === 'settle' ? 'answered' : 'unsent'
        await store.release(lease, ending)
        state = releaseSlot(testPolicy, state, now(), lease, ending)
      }
    }
    expect(await store.view()).toEqual(budgetView(testPolicy, state, now()))
  }
}

/** Remembers the keeper's clock as it was last told. */
function watched(cell: BudgetRecord) {
  const told = { now: 0, swaps: 0 }
  const watch = <T extends { readonly now: number }>(reading: T): T => {
    told.now = reading.now
    return reading
  }
  const through: BudgetRecord = {
    read: async () => watch(await cell.read()),
    compareAndSet: (seen, text) => {
      told.swaps += 1
      return cell.compareAndSet(seen, text)
    },
  }
  return { cell: through, told }
}

test('in memory: it decides as the budget does', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(play, { maxLength: 30 }), async (plays) => {
      const clock = 1000
      await compare([createMemoryStore(testPolicy, () => clock)], () => clock, plays)
    }),
    { numRuns: 30 },
  )
})

for (const keeper of recordStores) {
  describe(`kept in ${keeper.name}`, () => {
    test('two processes get the decisions that the budget makes', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(play, { minLength: 10, maxLength: 30 }), async (plays) => {
          const kept = await keeper.make()
          const told = watched(await kept.connect())
          await kept.forget()
          await compare([createTestStore(told.cell).store, createTestStore(told.cell).store], () => told.told.now, plays)
        }),
        { numRuns: 5 },
      )
    })

    test('processes that ask at once never get more slots than there are, and none is lost', async () => {
      const kept = await keeper.make()
      const stores = await Promise.all([1, 2, 3].map(async () => createTestStore(await kept.connect()).store))
      const ample = Array.from({ length: 40 }, () => stores.map((store) => store.acquire('all', [read])))
      const decisions = await Promise.all(ample.flat())
      const leases = decisions.flatMap((decision) => ('lease' in decision ? decision.lease : []))
      // 95 slots, a fifth of them without a pace.
      expect(leases.length).toBeGreaterThanOrEqual(19)
      expect(leases.length).toBeLessThanOrEqual(25)
      expect(await stores[1]!.view()).toMatchObject({ inUse: leases.length })
      await Promise.all(leases.map((lease, index) => stores[index % 3]!.release(lease, 'unsent')))
      expect(await stores[2]!.view()).toMatchObject({ inUse: 0 })
    })

    test('what is asked for at the same moment costs one write', async () => {
      const kept = await keeper.make()
      const { cell, told } = watched(await kept.connect())
      const { store } = createTestStore(cell)
      const leases = await Promise.all(Array.from({ length: 10 }, () => granted(store)))
      await Promise.all([granted(store), ...leases.map((lease) => store.release(lease, 'unsent'))])
      expect(told.swaps).toBe(2)
      expect(await store.view()).toMatchObject({ inUse: 1 })
    })

    test('a 429 that one process got lets the other rest', async () => {
      const kept = await keeper.make()
      const [one, other] = [createTestStore(await kept.connect()).store, createTestStore(await kept.connect()).store]
      await one.recordThrottle(await granted(one), 5000)
      expect(await other.acquire('other', [read])).toHaveProperty('waitMs')
      expect(await other.view()).toMatchObject({ throttled: 1, closedForMs: null })
    })

    test('once its record is gone it is closed for all, and one process says so', async () => {
      const kept = await keeper.make()
      const processes = [
        createTestStore(await kept.connect()),
        createTestStore(await kept.connect()),
        createTestStore(await kept.connect()),
      ]
      for (const { store } of processes) await granted(store)
      await kept.forget()
      const decisions = await Promise.all(processes.map(({ store }) => store.acquire('me', [read])))
      for (const decision of decisions) expect(decision).toHaveProperty('waitMs')
      for (const { store } of processes) {
        const { closedForMs } = await store.view()
        expect(closedForMs).toBeGreaterThan(closedMs - 5000)
        expect(closedForMs).toBeLessThanOrEqual(closedMs)
      }
      expect(processes.flatMap(({ lost }) => lost)).toEqual(['its record is gone'])
    })

    test('a process that starts without a record is let in only if it is certain that nobody used the key', async () => {
      const kept = await keeper.make()
      const doubting = createTestStore(await kept.connect(), {
        keyUse: { ...unusedKey, isUnusedFor: async () => false },
      })
      expect(await doubting.store.acquire('me', [read])).toHaveProperty('waitMs')
      expect(doubting.lost).toHaveLength(1)
      await kept.forget()
      const failing = createTestStore(await kept.connect(), {
        keyUse: { ...unusedKey, isUnusedFor: () => Promise.reject(new Error('who knows')) },
      })
      expect(await failing.store.acquire('me', [read])).toHaveProperty('waitMs')
      await kept.forget()
      const certain = createTestStore(await kept.connect())
      expect(await certain.store.acquire('me', [read])).toHaveProperty('lease')
      expect(certain.lost).toEqual([])
    })

    test('processes that start side by side are all let in, though each notes that it uses the key', async () => {
      const kept = await keeper.make()
      let used = false
      const use = {
        isQuiet: async () => !used,
        note: async () => {
          used = true
        },
      }
      const processes = await Promise.all([1, 2, 3, 4].map(async () => createTestStore(await kept.connect(), { keyUse: use })))
      const decisions = await Promise.all(processes.map(({ store }) => store.acquire('me', [read])))
      for (const decision of decisions) expect(decision).toHaveProperty('lease')
      expect(used).toBe(true)
    })

    test('nothing is granted where the use of the key cannot be noted', async () => {
      const kept = await keeper.make()
      const use = { ...unusedKey, note: () => Promise.reject(new Error('read only')) }
      await expect(createTestStore(await kept.connect(), { keyUse: use }).store.acquire('me', [read])).rejects.toThrow('read only')
    })

    test('a record that cannot be read, and one from before the last that was seen, close it', async () => {
      const kept = await keeper.make()
      const cell = await kept.connect()
      const { store, lost } = createTestStore(cell)
      await granted(store)
      const backup = (await cell.read()).text!
      await granted(store)
      await overwriteRecord(cell, backup)
      expect(await store.acquire('me', [read])).toHaveProperty('waitMs')
      await overwriteRecord(cell, 'rubbish')
      expect(await store.acquire('me', [read])).toHaveProperty('waitMs')
      expect(lost).toEqual([expect.stringContaining('older'), expect.stringContaining('unreadable')])
    })

    test('a swap that comes late, or twice, changes nothing', async () => {
      const kept = await keeper.make()
      const cell = await kept.connect()
      const empty = await cell.read()
      expect(await cell.compareAndSet({ ...empty, now: empty.now - 1500 }, 'late')).toMatchObject({ swapped: false })
      const first = await cell.compareAndSet(empty, 'first')
      expect(first).toMatchObject({ swapped: true, reading: { text: 'first', restarted: false } })
      expect(await cell.compareAndSet(empty, 'again')).toMatchObject({ swapped: false, reading: { text: 'first' } })
      const { now } = first.reading
      expect(await cell.compareAndSet({ ...first.reading, now: now - 1500 }, 'late')).toMatchObject({ swapped: false })
      expect(await cell.compareAndSet(first.reading, 'second')).toMatchObject({ swapped: true })
      expect(await (await kept.connect()).read()).toMatchObject({ text: 'second', restarted: false })
    })
  })
}

describe('the clock of its keeper', () => {
  /** A process with a clock of its own beside the keeper's; both run. */
  async function world() {
    const kept = inMemoryRecord({ now: 1e12 })
    const own = { now: 0 }
    const start = () => createTestStore(kept.cell, { monotonic: () => own.now })
    const pass = (ms: number) => {
      kept.clock.now += ms
      own.now += ms
    }
    const [one, other] = [start(), start()]
    for (const { store } of [one, other]) await granted(store)
    return { ...kept, one, other, pass, start }
  }

  test('that is set forward closes it, once for all', async () => {
    const { clock, one, other, pass } = await world()
    pass(10_000)
    clock.now += 45_000
    expect(await one.store.acquire('me', [read])).toHaveProperty('waitMs')
    expect(await other.store.acquire('me', [read])).toHaveProperty('waitMs')
    expect([...one.lost, ...other.lost]).toEqual([expect.stringContaining('set forward by 45.0 s')])
  })

  test('that is set back closes it, once for all, and for no longer', async () => {
    const { clock, one, other, pass } = await world()
    clock.now -= 3_600_000
    expect(await one.store.acquire('me', [read])).toHaveProperty('waitMs')
    pass(closedMs - 10)
    expect(await other.store.acquire('me', [read])).toHaveProperty('waitMs')
    pass(10)
    expect(await other.store.acquire('me', [read])).toHaveProperty('lease')
    expect([...one.lost, ...other.lost]).toEqual([expect.stringContaining('set back')])
  })

  test('that stumbles by less than a second does no harm', async () => {
    const { clock, one, other } = await world()
    clock.now -= 800
    expect(await one.store.acquire('me', [read])).toHaveProperty('lease')
    clock.now += 900
    expect(await other.store.acquire('me', [read])).toHaveProperty('lease')
    expect(await one.store.view()).toMatchObject({ inUse: 4, closedForMs: null })
  })

  test('that has gone on while nobody looked is no reason to close', async () => {
    const { one, pass } = await world()
    pass(30 * 86_400_000)
    expect(await one.store.acquire('me', [read])).toHaveProperty('lease')
  })

  test('of a keeper that was restarted is nothing to trust', async () => {
    const { state, one, other } = await world()
    state.restarted = true
    expect(await one.store.acquire('me', [read])).toHaveProperty('waitMs')
    expect(await other.store.acquire('me', [read])).toHaveProperty('waitMs')
    expect([...one.lost, ...other.lost]).toEqual([expect.stringContaining('restarted')])
  })
})

describe('a keeper that is out of reach', () => {
  test('lets nobody in, and everybody once it is back', async () => {
    const { cell, state } = inMemoryRecord()
    const { store } = createTestStore(cell)
    const lease = await granted(store)
    state.down = true
    const asked = [store.acquire('me', [read]), store.release(lease, 'answered'), store.view()]
    for (const one of asked) await expect(one).rejects.toThrow('connection refused')
    state.down = false
    expect(await store.acquire('me', [read])).toHaveProperty('lease')
  })
})

describe('a process that was stopped', () => {
  const stopped = async (ms: number) => {
    const own = { now: 0 }
    const memory = createMemoryStore(testPolicy)
    let takes = 0
    const slow: BudgetStore = {
      ...memory,
      acquire: async (...asked) => {
        takes += 1
        const decision = await memory.acquire(...asked)
        if (takes === 1) own.now += ms
        return decision
      },
    }
    const budget = createRequestBudget(slow, 'me', () => own.now)
    return { own, budget, memory, takes: () => takes }
  }

  test('between asking and being granted asks again, and gives the old slot back', async () => {
    const { budget, memory, takes } = await stopped(1500)
    await budget.acquire(read)
    expect(takes()).toBe(2)
    expect(await memory.view()).toMatchObject({ inUse: 1 })
  })

  test('for less than a second goes on', async () => {
    const { budget, takes } = await stopped(900)
    await budget.acquire(read)
    expect(takes()).toBe(1)
  })

  test('after its grant may not send once its deadline is over', async () => {
    const { budget, own } = await stopped(0)
    const grant = await budget.acquire(read)
    own.now += deadlineMs - 1
    expect(grant.remainingMs()).toBeGreaterThan(0)
    own.now += 1
    expect(grant.remainingMs()).toBeLessThanOrEqual(0)
  })
})
