/** Progress: what each stream has done, how fast, and how long it still takes. */
import { describe, expect, test } from 'vitest'
import { classifyInterrupt } from '../../src/cli/interrupt.ts'
import { openDisplay } from '../../src/cli/render/display.ts'
import { formatCount, formatDuration, toPrintable } from '../../src/cli/render/format.ts'
import {
  afterProgress,
  emptyProgress,
  progressSummary,
  streamProgressRow,
  timeLeft,
} from '../../src/cli/render/progress.ts'
import type { BudgetView, SyncProgress } from '../../src/core/report.ts'

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

describe('the time that is left', () => {
  test('what is left of the burst goes at once, the rest at the pace of the budget', () => {
    expect(timeLeft(1140, budget)).toBe(120_000)
    expect(timeLeft(114 + 570, { ...budget, inUse: 0 })).toBe(60_000)
    expect(timeLeft(10, { ...budget, inUse: 0 })).toBe(1000)
  })
  test('a pause that the service asked for comes on top', () => {
    expect(timeLeft(570, { ...budget, pausedForMs: 30_000 })).toBe(90_000)
  })
  test('and so does the time for which nothing is sent, as the record of the last requests was lost', () => {
    const closed = { ...budget, closedForMs: 90_000 }
    expect(timeLeft(570, closed)).toBe(150_000)
    const progress = afterProgress({ ...emptyProgress, budget: closed }, running, 0)
    expect(progressSummary(progress, 100)).toContain(
      'nothing is sent for 1 min 30 s: the record of the last requests was lost',
    )
  })
  test('a stream of unknown length makes it a lower bound', () => {
    const known = afterProgress({ ...emptyProgress, budget }, running, 0)
    const unknown = afterProgress(known, { ...running, stream: 'calls', left: null }, 0)
    expect(progressSummary(known, 100)).toBe('about 2 min left   budget 570 of 570')
    expect(progressSummary(unknown, 100)).toBe('at least 2 min left   budget 570 of 570')
  })
})

test("a stream's line has its rows, changes, requests, rate and what is left", () => {
  const begun = afterProgress(emptyProgress, running, 1000)
  const later = afterProgress(begun, { ...running, rows: 12_000, changed: 40, requests: 60, left: 1 }, 4000)
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

  test('--quiet shows none of it, and still says what a person must hear', () => {
    const { out, text } = collector(true)
    const display = openDisplay(out, true, () => 0)
    display.onProgress({ ...running, state: 'done' })
    display.notify('stopping')
    expect(text()).toBe('deskmirror: stopping\n')
  })
})

test('on a terminal what stays is written above what is redrawn', async () => {
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

test('Ctrl-C: the first stops softly, a second at once; an echo of the first is none', () => {
  expect([classifyInterrupt(null, 0), classifyInterrupt(1000, 1020), classifyInterrupt(1000, 3000)]).toEqual([
    'first',
    'echo',
    'again',
  ])
})

test('numbers and durations are for people', () => {
  expect([
    formatCount(12_340),
    formatDuration(340),
    formatDuration(2100),
    formatDuration(126_000),
    formatDuration(12_000_000),
    formatDuration(187_200_000),
  ]).toEqual(['12,340', '340 ms', '2.1 s', '2 min 6 s', '3 h 20 min', '2 d 4 h'])
})

test('foreign text cannot move the cursor or turn the line around', () => {
  expect(toPrintable('a\u001b[2Jb\r\nc\u202ed 👩‍🚀')).toBe('a [2Jb c d 👩‍🚀')
})
