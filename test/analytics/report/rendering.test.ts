/**
 * Pages as Markdown and HTML: every text of the data stays text, and every chart has its numbers in
 * a table.
 */
import { expect, test } from 'vitest'
import { buildReport } from '../../../src/analytics/report/report.ts'
import { reportPage } from '../../../src/analytics/report/report-page.ts'
import type { ReportData } from '../../../src/analytics/sql/report-data.ts'
import {
  type Chart,
  columns,
  escapeMarkdown,
  renderChart,
  renderHtml,
  renderMarkdown,
  section,
} from '../../../src/document/page.ts'
import { hostileTexts, now, periodData, reportData } from './report-fixtures.ts'

/** Everywhere where a text of the data can appear. */
function hostileData(text: string): ReportData {
  const [agent] = periodData().agents
  const [target] = periodData().targets
  if (agent === undefined || target === undefined)
    throw new Error('the fixture has an agent and a target')
  return reportData({
    current: periodData({
      agents: [{ ...agent, name: text }],
      targets: [{ ...target, name: text, open: 1 }],
    }),
    queue: {
      open: 1,
      waiting: 1,
      longest: [
        {
          conversationId: text,
          visitorName: text,
          agent: text,
          waitingSince: '2026-11-18T08:00:00Z',
          waitingSeconds: 60,
          serviceWaitingSince: null,
        },
      ],
    },
    quality: [{ what: text, meaning: text, all: 2, wrong: 1 }],
    streams: [
      { stream: text, syncedAt: null, skipped: text, failed: text, openGaps: 0, neverRead: 0 },
    ],
  })
}

const pageOf = (text: string) => reportPage([buildReport(text, hostileData(text), now)])

/** The names of all elements and their attributes: what a hostile text must not change. */
function structureOf(markup: string): string[] {
  return [...markup.matchAll(/<(\/?[a-z0-9]+)((?:[^>"]|"[^"]*")*)>/gi)].map(
    ([, name = '', attributes = '']) =>
      `${name} ${[...attributes.matchAll(/([a-z0-9-]+)="/gi)].map(([, attribute]) => attribute).join(' ')}`,
  )
}

test('a change of a duration may be several lines, so that a phone has room for its table', () => {
  const part = columns([''], ['Change'])
  const table = { caption: 'Changes', columns: part, rows: [['Median', '+1 h 2 min (+4.5 %)']] }
  const page = { title: 'x', parts: [{ title: 'x', notes: [], sections: [section('x', table)] }] }
  expect(renderHtml(page)).toContain('<bdi>+1 h</bdi> <bdi>2 min</bdi> <bdi>(+4.5 %)</bdi>')
})

for (const text of hostileTexts) {
  test(`HTML has the same elements and attributes with a hostile text as with a harmless one: ${JSON.stringify(text)}`, () => {
    const page = renderHtml(pageOf(text))
    expect(structureOf(page)).toEqual(structureOf(renderHtml(pageOf('Bob'))))
    expect(page).not.toMatch(/<script|[\u202a-\u202e]/i)
    expect(page.isWellFormed()).toBe(true)
  })

  test(`Markdown has the same lines and cells with a hostile text as with a harmless one: ${JSON.stringify(text)}`, () => {
    const shape = (markdown: string) =>
      markdown.split('\n').map((line) => line.match(/(?<!\\)\|/g)?.length ?? 0)
    const page = renderMarkdown(pageOf(text))
    expect(shape(page)).toEqual(shape(renderMarkdown(pageOf('Ann'))))
    expect(page).not.toMatch(/<|(?<!\\)[[\]`]|(?<!\\):\/\/|www\.evil|@/)
  })
}

const escaped = [
  ['a | b', 'a \\| b'],
  ['<b>', '&lt;b&gt;'],
  ['*x* _y_', '\\*x\\* \\_y\\_'],
  ['\\|', '\\\\\\|'],
  ['https://a.example', 'https\\://a.example'],
  ['ann@a.example', 'ann&commat;a.example'],
  ['one\ntwo', 'one two'],
  ['2026-11-09 to 10', '2026-11-09 to 10'],
] as const

for (const [text, expected] of escaped) {
  test(`in Markdown ${JSON.stringify(text)} is ${JSON.stringify(expected)}`, () => {
    expect(escapeMarkdown(text)).toBe(expected)
  })
}

test('an HTML page is complete in itself: no script, no style sheet and no picture from anywhere', () => {
  const page = renderHtml(pageOf('Ann'))
  expect(page).not.toMatch(/<(script|link|img|iframe|object)|\b(src|href|on[a-z]+)=|url\(|@import/i)
  expect(page).toContain('content="default-src &#39;none&#39;; ')
  expect(page).toContain('prefers-color-scheme: dark')
  expect(page).toContain('@media print')
})

test('every id of a page with several projects is there once', () => {
  const report = buildReport('shop', reportData(), now)
  const page = renderHtml(reportPage([report, { ...report, project: 'school' }]))
  const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
  expect(ids.length).toBe(6)
  expect(new Set(ids).size).toBe(ids.length)
  for (const [, labels = ''] of page.matchAll(/aria-labelledby="([^"]+)"/g))
    for (const id of labels.split(' ')) expect(ids).toContain(id)
})

test('a project without a report says why, and the others are shown', () => {
  const failed = {
    project: 'school',
    what: 'there is nothing to report of school',
    why: 'no facts',
  }
  const page = renderMarkdown(reportPage([buildReport('shop', reportData(), now), failed]))
  expect(page).toContain('## shop: 2026-11-09 to 2026-11-15 (week 2026-W46)')
  expect(page).toContain(
    'There is no report of this project: there is nothing to report of school: no facts.',
  )
})

test('Markdown shows the numbers in tables', () => {
  const page = renderMarkdown(reportPage([buildReport('shop', reportData(), now)]))
  expect(page).toMatch(/^# shop: 2026-11-09 to 2026-11-15/)
  expect(page).toMatch(/\| Conversations started +\| +8 \| +8 \| +unchanged \|/)
  expect(page).toMatch(
    /\| first answer +\| business +\| +15 min \| +8 \| +6 \| +2 \| +0 \| +0 \| +75 % \|/,
  )
})

test('times are those of the project, as on the other pages, and the first median is that of the overview', () => {
  const waits = {
    waitingSince: '2026-11-18T08:00:00Z',
    waitingSeconds: 60,
    serviceWaitingSince: '2026-11-18T08:10:00Z',
  }
  const longest = [{ conversationId: 'c1', visitorName: null, agent: 'a7', ...waits }]
  const [first] = periodData().responseTimes
  const responseTimes = (['first', 'every'] as const).flatMap((which) =>
    first === undefined ? [] : [{ ...first, which }],
  )
  const data = reportData({
    current: periodData({ responseTimes }),
    queue: { open: 1, waiting: 1, longest },
  })
  const page = renderMarkdown(
    reportPage([
      buildReport(
        'shop',
        { ...data, project: { ...data.project, timeZone: 'Europe/Berlin' } },
        now,
      ),
    ]),
  )
  expect(page).toMatch(/\| c1 +\| a7 +\| 2026-11-18 09:00 \| 2026-11-18 09:10 \|/)
  expect(page).toContain('Days and times are those of Europe/Berlin.')
  expect(page).not.toMatch(/T\d\d\\?:\d\d/)
  const [every, firstOnly] = ['Until a human answered, median', 'First human response, median'].map(
    (row) => page.indexOf(row),
  )
  expect(every).toBeGreaterThan(0)
  expect(every).toBeLessThan(firstOnly ?? 0)
})

test('a period without data says so', () => {
  const none = Object.keys(periodData().counts).map((name) => [name, 0])
  const counts: ReturnType<typeof periodData>['counts'] = Object.fromEntries(none)
  const calls = {
    calls: 0,
    callers: 0,
    withRecording: 0,
    withLength: 0,
    seconds: 0,
    medianSeconds: null,
  }
  const levels = { openAtEnd: null, waitingAtEnd: null }
  const current = periodData({ counts, calls, levels, agents: [], targets: [] })
  const page = reportPage([buildReport('shop', reportData({ current }), now)])
  expect(page.parts[0]?.notes[0]).toBe('Nothing was counted in this period.')
  expect(renderHtml(page)).not.toMatch(/NaN|Infinity|undefined|null/)
})

const texts = { title: 'T', description: 'D' }
const ofDays = { ...texts, labelUnit: 'day', unit: 'waits' }
const ofHours = { kind: 'heat map', ...texts, columnUnit: 'hour', rows: ['Mon'] } as const
const chart = (data: Chart) => renderChart(data, 'c').html

const textsOf = (markup: string) =>
  [...markup.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text)

const bars = (values: readonly number[]) =>
  chart({
    kind: 'bars',
    ...ofDays,
    labels: values.map((_, n) => `day ${n}`),
    series: [{ name: 'waits', values }],
  })

test('bars begin at zero, and the highest is within the chart', () => {
  const markup = bars([0, 5, 10])
  const drawn = [
    ...markup.matchAll(
      /class="first" x="[\d.]+%" y="([\d.]+)%" width="[\d.]+%" height="([\d.]+)%"/g,
    ),
  ]
  const [half = 0, full = 0, ...others] = drawn.map(([, , height]) => Number(height))
  expect(others).toEqual([])
  expect(half).toBeCloseTo(full / 2)
  for (const [, y, height] of drawn) expect(Number(y) + Number(height)).toBeCloseTo(100)
  expect(markup).toContain('<title>day 2 · waits 10</title>')
})

test('a line has a gap where a value is missing', () => {
  const markup = chart({
    kind: 'lines',
    ...ofDays,
    labels: ['a', 'b', 'c', 'd', 'e'],
    series: [{ name: 'open', values: [1, 2, null, 3, null] }],
  })
  expect(/ d="([^"]+)"/.exec(markup)?.[1]?.match(/M/g)).toHaveLength(2)
  expect([...markup.matchAll(/<circle/g)]).toHaveLength(3)
})

test('of many days every n-th has its label, and each value its own where the pointer is', () => {
  const markup = bars(Array.from({ length: 60 }, () => 1))
  expect(
    [...markup.matchAll(/<text class="middle"[^>]*>day (\d+)</g)].map(([, day]) => Number(day)),
  ).toEqual([...[0, 8, 16, 24, 32, 40, 48, 56]])
  expect(markup).toContain('<title>day 58 · waits 1</title>')
})

test('axes have their units, and a day that is not over is marked', () => {
  const markup = chart({
    kind: 'bars',
    ...ofDays,
    labels: ['Mon', 'Tue'],
    unfinishedFrom: 1,
    series: [{ name: 'waits', values: [5, 1] }],
  })
  expect(textsOf(markup)).toEqual(expect.arrayContaining(['waits by day', 'so far']))
  expect(markup).toContain('<title>Mon · waits 5</title>')
  expect(markup).toContain('<title>Tue (so far) · waits 1</title>')
  expect(textsOf(bars([5, 1]))).not.toContain('so far')
  expect(textsOf(chart({ ...ofHours, columns: ['00'], values: [[1]] }))).toContain('hour')
})

test('large numbers in a heat map are short, and exact where the pointer is', () => {
  const markup = chart({ ...ofHours, columns: ['00', '01'], values: [[999, 2539]] })
  expect(markup).toContain('>999</text>')
  expect(markup).toContain('>2.5K</text>')
  expect(markup).toContain('<title>Mon 01: 2,539</title>')
})

test('a chart without any value is still a chart', () => {
  const none = [
    bars([]),
    chart({ kind: 'lines', ...ofDays, labels: ['a'], series: [{ name: 'open', values: [null] }] }),
    chart({ ...ofHours, columns: ['00'], values: [[0]] }),
  ]
  for (const markup of none) expect(markup).not.toMatch(/NaN|Infinity/)
})

test('the cells of a heat map are the darker the larger their value is', () => {
  const markup = chart({ ...ofHours, columns: ['00', '01', '02'], values: [[0, 5, 10]] })
  const heat = [...markup.matchAll(/fill-opacity="([\d.]+)"/g)].map(([, opacity]) =>
    Number(opacity),
  )
  expect(heat).toEqual([0.04, 0.32, 0.6])
})

const scales = [
  [[], [0, 1]],
  [[3], [0, 1, 2, 3]],
  [[17], [0, 5, 10, 15, 20]],
  [[1000], [0, 200, 400, 600, 800, 1000]],
] as const

for (const [values, ticks] of scales) {
  test(`the axis of ${JSON.stringify(values)} has round numbers`, () => {
    const shown = [...bars(values).matchAll(/<text class="end"[^>]*>([\d,]+)</g)]
    expect(shown.map(([, tick = '']) => Number(tick.replace(',', '')))).toEqual(ticks)
  })
}
