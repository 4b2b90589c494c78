/** Progress: what each stream has done, how fast, and how long the rest takes. */
import { describe, expect, test } from 'vitest'
import { classifyInterrupt } from '../../src/cli/command-context.ts'
import { afterProgress, emptyProgress, openDisplay } from '../../src/cli/render/display.ts'
import { progressSummary, streamProgressRow, timeLeft } from '../../src/cli/render/progress.ts'
import type { SyncProgress } from '../../src/mirror/core/reports.ts'
import type { BudgetView } from '../../src/service/core/budget.ts'
import { formatCount, formatDuration, toPrintable } from '../../src/values/format.ts'

const budget: BudgetView = {
  limit: 600,
  windowMs: 60_000,
  slots: 570,
  inUse: 570,
  pausedForMs: null,
  closedForMs: null,
  throttled: 0,
}
const running: SyncProgress = { stream: 'messages', state: 'running', rows: 0, changed: 0, requests: 0, left: 1140 }

describe('the remaining time', () => {
  test('requests within the burst go at once, the others at the pace of the budget', () => {
    expect(timeLeft(1140, budget)).toBe(120_000)
    expect(timeLeft(114 + 570, { ...budget, inUse: 0 })).toBe(60_000)
    expect(timeLeft(10, { ...budget, inUse: 0 })).toBe(1000)
  })
  test('a pause that the service asked for is added', () => {
    expect(timeLeft(570, { ...budget, pausedForMs: 30_000 })).toBe(90_000)
  })
  test('and so is the time without requests after the record was lost', () => {
    const closed = { ...budget, closedForMs: 90_000 }
    expect(timeLeft(570, closed)).toBe(150_000)
    const progress = afterProgress({ ...emptyProgress, budget: closed }, running, 0)
    expect(progressSummary(progress, 100)).toContain(
      'nothing is sent for 1 min 30 s: the record of recent requests was lost',
    )
  })
  test('a stream of unknown length makes it a lower bound', () => {
    const known = afterProgress({ ...emptyProgress, budget }, running, 0)
    const unknown = afterProgress(known, { ...running, stream: 'calls', left: null }, 0)
    expect(progressSummary(known, 100)).toBe('about 2 min left   budget 570 of 570')
    expect(progressSummary(unknown, 100)).toBe('at least 2 min left   budget 570 of 570')
  })
})

test("a stream's line has its rows, changes, requests, rate and remaining requests", () => {
  const started = afterProgress(emptyProgress, running, 1000)
  expect(streamProgressRow({ ...started.streams.get('messages')!, differing: 3 }, 4000)[2]).toBe('3 differ')
  const later = afterProgress(started, { ...running, rows: 12_000, changed: 40, requests: 60, left: 1 }, 4000)
  const cells = streamProgressRow(later.streams.get('messages')!, 5000)
  expect(cells).toEqual(['messages', '12,000 rows', '40 changed', '60 requests', '3,000 rows/s', '1 request left'])
})

type Terminal = Parameters<typeof openDisplay>[0]

function collector(isTTY: boolean): { readonly out: Terminal; readonly text: () => string } {
  let text = ''
  const write = (part: string) => {
    text += part
    return true
  }
  return { out: { isTTY, columns: 80, rows: 24, write } as unknown as Terminal, text: () => text }
}

describe('without a terminal', () => {
  test('a stream has a line when it ends, and one every few seconds while it runs', () => {
    let now = 0
    const { out, text } = collector(false)
    const display = openDisplay(out, false, () => now)
    for (; now < 12_000; now += 100) display.onProgress({ ...running, rows: now / 10, requests: now / 100 })
    display.onProgress({ ...running, state: 'done', rows: 1200, requests: 120, left: 0 })
    display.onProgress({ ...running, state: 'done', rows: 1200, requests: 120, left: 0 })
    const lines = text().trimEnd().split('\n')
    expect(lines.map((line) => line.split('   ')[1])).toEqual(['500 rows', '1,000 rows', '1,200 rows'])
    expect(lines[2]).toBe('messages   1,200 rows   0 changed   120 requests   100 rows/s   done')
    expect(text()).not.toContain('\u001b')
  })

  test('--quiet hides progress, but not notices', () => {
    const { out, text } = collector(true)
    const display = openDisplay(out, true, () => 0)
    display.onProgress({ ...running, state: 'done' })
    display.notify('stopping')
    expect(text()).toBe('deskmirror: stopping\n')
  })
})

test('on a terminal permanent lines are written above the redrawn ones', async () => {
  const { out, text } = collector(true)
  const display = openDisplay(out, false, () => 0)
  display.onProgress(running)
  display.onBudget(budget)
  await expect.poll(text).toContain('1,140 requests left')
  display.writeAbove('12:00:00 warn call.throttled\n')
  display.clear()
  expect(text()).toContain('12:00:00 warn call.throttled\n')
  expect(text().match(/1,140 requests left/g)).toHaveLength(1)
})

test('Ctrl-C: the first one stops in order, a second one at once; an echo of the first is ignored', () => {
  expect([classifyInterrupt(null, 0), classifyInterrupt(1000, 1020), classifyInterrupt(1000, 3000)]).toEqual([
    'first',
    'echo',
    'again',
  ])
})

test('numbers and durations are formatted for people', () => {
  expect([
    formatCount(12_340),
    formatDuration(340),
    formatDuration(2100),
    formatDuration(126_000),
    formatDuration(12_000_000),
    formatDuration(187_200_000),
  ]).toEqual(['12,340', '340 ms', '2.1 s', '2 min 6 s', '3 h 20 min', '2 d 4 h'])
})

test('control characters in untrusted text are removed', () => {
  expect(toPrintable('a\u001b[2Jb\r\nc\u202ed 👩‍🚀')).toBe('a [2Jb c d 👩‍🚀')
})
