/**
 * The fleet simulation loses no job, matches results calculated by hand, and is never slower with
 * more workers.
 */
import { describe, expect, test } from 'vitest'
import type { Costs, PerStream } from '../../bench/fleet/costs.ts'
import { createKeyLimit } from '../../bench/fleet/key-limit.ts'
import { createLoad } from '../../bench/fleet/load.ts'
import { createProjects } from '../../bench/fleet/projects.ts'
import { type Simulation, simulate } from '../../bench/fleet/simulate.ts'
import { streamNames } from '../../schema/stream-specs.ts'
import { defaultSchedules } from '../../src/config/schedules.ts'
import { seededRandom } from '../support/seeded-random.ts'

const forEachStream = (value: number) =>
  Object.fromEntries(streamNames.map((stream) => [stream, value])) as PerStream<number>
const costs: Costs = {
  tickCpuMs: 2,
  passCpuMs: forEachStream(3),
  busyCpuMs: 1,
  requestCpuMs: 5,
  passMs: 4,
  requestMs: 10,
  queueMs: 1,
  budgetMs: 0.5,
}
const idle = Object.fromEntries(streamNames.map((stream) => [stream, 2])) as Record<
  (typeof streamNames)[number],
  number
>
const small = { conversations: 700, visitors: 300, calls: 90 }
const hour = 3_600_000

const usual: Omit<Simulation, 'projects' | 'workers'> = {
  load: createLoad(small, idle, false),
  costs,
  concurrency: 8,
  sliceMs: 20_000,
  startsAt: Date.UTC(2026, 0, 15, 5),
  forMs: hour,
  warmUpMs: 0,
  drain: true,
  random: () => 0.5,
}
const run = (projects: number, workers: number, more: Partial<Simulation> = {}) =>
  simulate({
    ...usual,
    random: seededRandom(7),
    projects: createProjects(projects, 3),
    workers,
    ...more,
  })

describe('every enqueued job runs once, and none remains', () => {
  test.each([
    ['quiet', {}],
    ['the first mirror', { load: createLoad(small, idle, true), forMs: hour / 6 }],
    [
      'with too few resources',
      { concurrency: 1, costs: { ...costs, passCpuMs: forEachStream(2000) }, forMs: hour / 6 },
    ],
  ])('%s', (_, more) => {
    const { enqueued, duplicates, ended, requests } = run(30, 2, more)
    expect(enqueued).toBeGreaterThan(300)
    expect(ended + duplicates).toBe(enqueued)
    expect(requests).toBeGreaterThan(0)
  })
})

test('a first mirror requests each page and each child once, in addition to the requests of every sync', () => {
  const firings = {
    ...defaultSchedules,
    reconcile: { kind: 'off' },
    analytics: { kind: 'off' },
  } as const
  const quick = { schedules: firings, forMs: hour }
  const projects = createProjects(5, 3, quick.schedules)
  const { requests } = run(5, 2, { projects, load: createLoad(small, forEachStream(0), true) })
  const pages = 4 + 2 + 1
  const children = (4 + 2 + 1) * 200
  expect(requests).toBe(5 * (pages + children))
})

describe('a single sync', () => {
  const off = { kind: 'off' } as const
  const schedules = {
    ...defaultSchedules,
    reconcile: off,
    analytics: off,
    availability: off,
    audit: off,
  }
  const createProject = (...streams: ('conversations' | 'calls')[]) =>
    createProjects(1, 3, schedules).map((project) => ({ ...project, streams }))
  const tick = costs.queueMs + costs.tickCpuMs
  const requestMs = costs.budgetMs + costs.requestMs + costs.requestCpuMs
  const sync = costs.queueMs + costs.passCpuMs.conversations + costs.passMs + 2 * requestMs

  test('takes as long as its steps in sequence', () => {
    const { lag, age, wait, enqueued, cpuMs, queueMs, requests } = run(1, 1, {
      projects: createProject('conversations'),
    })
    expect([lag.quantile(0), lag.max()]).toEqual([tick + sync, tick + sync])
    expect(age.max()).toBe(300_000)
    expect(wait.sync.max()).toBe(costs.queueMs)
    expect([enqueued, requests]).toEqual([24, 24])
    expect(cpuMs).toEqual([
      12 * (costs.tickCpuMs + costs.passCpuMs.conversations + 2 * costs.requestCpuMs),
    ])
    expect(queueMs).toBe(24 * costs.queueMs + 24 * costs.budgetMs)
  })

  test('waits for a slot if there is only one', () => {
    const { lag } = run(1, 1, { projects: createProject('conversations', 'calls'), concurrency: 1 })
    expect([lag.quantile(0), lag.max()]).toEqual([tick + sync, tick + 2 * sync])
  })
})

test.each([1, 2, 3])('twice the workers are never slower if one is too few (seed %i)', (seed) => {
  const slow = {
    costs: { ...costs, passCpuMs: forEachStream(1200) },
    forMs: hour / 3,
    projects: createProjects(40, seed),
  }
  const outcomes = [1, 2, 4].map((workers) =>
    run(0, workers, { ...slow, random: seededRandom(seed) }),
  )
  const [one = [], two = [], four = []] = outcomes.map(({ lag, age }) => [
    lag.quantile(0.5),
    lag.quantile(0.95),
    age.quantile(0.5),
  ])
  expect(one.map((ms, n) => (two[n] ?? 0) <= ms)).toEqual([true, true, true])
  expect(two.map((ms, n) => (four[n] ?? 0) <= ms)).toEqual([true, true, true])
})

test('a key allows no more than its slots in any window, whatever the demand', () => {
  const key = createKeyLimit({ requests: 600, windowMs: 60_000 })
  const random = seededRandom(1)
  const sent: { at: number; count: number }[] = []
  for (let now = 0; now < 600_000; now += random() * 3000) {
    const count = 1 + Math.floor(random() * 32)
    sent.push({ at: key.take(now, count), count })
  }
  for (const { at } of sent) {
    const within = sent.filter((other) => other.at >= at && other.at < at + 60_000)
    expect(within.reduce((sum, { count }) => sum + count, 0)).toBeLessThanOrEqual(588)
  }
})
