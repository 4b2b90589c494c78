import { uptime } from 'node:os'
import { expect, test } from 'vitest'
import { createUptime } from '../../../src/service/rate-limit/uptime.ts'

function createClocks() {
  const now = { uptime: 5_000_000, running: 70, wall: Date.UTC(2026, 0, 1), readings: 0 }
  const pass = (ms: number) => {
    now.running += ms
    now.uptime += ms
    now.wall += ms
  }
  const readUptime = () => {
    now.readings += 1
    return now.uptime
  }
  return { now, pass, read: createUptime({ uptime: readUptime, running: () => now.running, wall: () => now.wall }) }
}

test('is that of the system', () => {
  expect(Math.abs(createUptime()() - uptime() * 1000)).toBeLessThan(500)
})

test('counts on without asking the system, once a second excepted', () => {
  const { now, pass, read } = createClocks()
  for (let n = 0; n < 100; n += 1) {
    pass(7)
    expect(read()).toBe(now.uptime)
  }
  expect(now.readings).toBe(1)
  pass(400)
  expect(read()).toBe(now.uptime)
  expect(now.readings).toBe(2)
})

test('counts the time of a suspension, however soon after the last reading it began', () => {
  const { now, pass, read } = createClocks()
  pass(3)
  read()
  now.wall += 90_000
  now.uptime += 90_000
  expect(read()).toBe(now.uptime)
})

test('is not set with the clock of the machine, and never goes back', () => {
  const { now, pass, read } = createClocks()
  pass(50)
  const before = read()
  now.wall -= 3_600_000
  expect(read()).toBe(before)
  now.uptime -= 10
  now.wall += 30_000
  expect(read()).toBe(before)
})

test('runs on where that of the system goes back, until it has caught up', () => {
  const { now, pass, read } = createClocks()
  pass(50)
  const before = read()
  now.uptime -= 3_600_000
  pass(2000)
  const after = read()
  expect(after).toBe(before)
  pass(700)
  expect(read()).toBe(after + 700)
  pass(2000)
  expect(read()).toBe(after + 2700)
  now.uptime += 7_200_000
  pass(2000)
  expect(read()).toBe(now.uptime)
})
