/** Progress: what has been done, how fast, and how long the rest takes. */
import { describe, expect, test } from 'vitest'
import { classifyInterrupt } from '../../src/cli/command-context.ts'
import { createSyncLine, openDisplay } from '../../src/cli/render/display.ts'
import { forecast, renderSyncProgress, timeLeft } from '../../src/cli/render/progress.ts'
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
const running: SyncProgress = {
  stream: 'messages',
  state: 'running',
  rows: 0,
  changed: 0,
  requests: 0,
  left: 1140,
}

describe('the remaining time', () => {
  test('requests within the burst go at once, the others at the pace of the budget', () => {
    expect(forecast(1140, budget)).toBe(120_000)
    expect(forecast(114 + 570, { ...budget, inUse: 0 })).toBe(60_000)
    expect(renderSyncProgress([{ ...running, left: 10 }], { ...budget, inUse: 0 }, 0)).toContain(
      'about 1 s left',
    )
  })
  test('a pause that the service asked for is added', () => {
    const paused = { ...budget, pausedForMs: 30_000 }
    expect(forecast(570, paused)).toBe(90_000)
    expect(renderSyncProgress([running], paused, 0)).toContain(
      'the service asked for a pause: 30 s',
    )
  })
  test('and so is the time without requests after the record was lost', () => {
    const closed = { ...budget, closedForMs: 90_000 }
    expect(forecast(570, closed)).toBe(150_000)
    expect(renderSyncProgress([running], closed, 0)).toContain(
      'the next request leaves in 1 min 30 s: how many left before is not known, and the rate must not be exceeded',
    )
  })
  test('a stream of unknown length makes it a lower bound', () => {
    const unknown: SyncProgress = { ...running, stream: 'calls', left: null }
    expect(renderSyncProgress([running], budget, 0)).toContain('about 2 min left')
    expect(renderSyncProgress([running, unknown], budget, 0)).toContain('at least 2 min left')
    expect(renderSyncProgress([running, { ...unknown, state: 'done' }], budget, 0)).toContain(
      'about 2 min left',
    )
  })
  test('is not said while more is found as fast as it is read', () => {
    const some = [{ ...running, left: 10 }]
    const line = (tookMs: number) => renderSyncProgress(some, { ...budget, inUse: 0 }, tookMs)
    expect(line(9000)).toContain('left')
    expect(line(120_000)).not.toContain('left')
  })
  test('is that at the rate so far where no request is made', () => {
    expect([timeLeft(100, 300, 5000), timeLeft(100, 0, 5000), timeLeft(0, 300, 5000)]).toEqual([
      'about 15 s left',
      '',
      '',
    ])
  })
})

test('the line of a sync has the rows of all streams, the requests a second, and the streams that are read now', () => {
  const lists: SyncProgress = {
    ...running,
    stream: 'calls',
    state: 'done',
    rows: 12_000,
    changed: 40,
    requests: 60,
  }
  expect(renderSyncProgress([], budget, 100)).toBe('budget 570 of 570')
  expect(renderSyncProgress([lists, { ...running, rows: 1, requests: 1 }], budget, 10_000)).toBe(
    '12,001 rows, 40 changed   about 2 min left   budget 570 of 570   6.1 requests/s   messages',
  )
  expect(renderSyncProgress([{ ...lists, differing: 3 }], null, 100)).toBe('12,000 rows, 3 differ')
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
  test('there is a line every few seconds', () => {
    let now = 0
    const { out, text } = collector(false)
    const display = openDisplay(out, false, () => now)
    const { onProgress } = createSyncLine(display, () => now)
    for (; now < 12_000; now += 100) onProgress({ ...running, rows: now / 10, requests: now / 100 })
    display.clear()
    const lines = text().trimEnd().split('\n')
    expect(lines).toEqual([
      '500 rows, 0 changed   10 requests/s   messages',
      '1,000 rows, 0 changed   10 requests/s   messages',
    ])
  })

  test('--quiet hides progress, but not notices', () => {
    const { out, text } = collector(true)
    const display = openDisplay(out, true, () => 0)
    display.onLine('12 rows')
    display.notify('stopping')
    expect(text()).toBe('deskmirror: stopping\n')
  })
})

test('on a terminal each line replaces the one before, at most ten times a second, and ends at the edge', () => {
  let now = 0
  const { out, text } = collector(true)
  const display = openDisplay(out, false, () => now)
  for (; now < 300; now += 50) display.onLine(`${now} ${'rows '.repeat(20)}`)
  const lines = text().split('\r\u001b[K').slice(1)
  expect(lines.map((line) => line.match(/\d+ rows/)?.[0])).toEqual([
    '0 rows',
    '100 rows',
    '200 rows',
  ])
  expect(lines[0]).toBe(`\u001b[?7l${`  0 ${'rows '.repeat(20)}`.slice(0, 78)}…\u001b[?7h`)
})

test('on a terminal permanent lines are written above the line, which goes at the end', () => {
  const { out, text } = collector(true)
  const display = openDisplay(out, false, () => 0)
  display.onLine('12 rows')
  display.writeAbove('12:00:00 warn call.throttled\n')
  display.clear()
  display.writeAbove('done\n')
  const line = '\u001b[?7l  12 rows\u001b[?7h'
  const erase = '\r\u001b[K'
  expect(text()).toBe(`${erase}${line}${erase}12:00:00 warn call.throttled\n${line}${erase}done\n`)
})

test('Ctrl-C: the first one stops in order, a second one at once; an echo of the first is ignored', () => {
  expect([
    classifyInterrupt(null, 0),
    classifyInterrupt(1000, 1020),
    classifyInterrupt(1000, 3000),
  ]).toEqual(['first', 'echo', 'again'])
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
