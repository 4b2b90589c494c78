/** Pages as pure functions: data in, words out. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { chooseReportPeriod } from '../../src/analytics/core/report-period.ts'
import { changeOf } from '../../src/analytics/report/change.ts'
import { buildReport } from '../../src/analytics/report/report.ts'
import { defaultSchedules } from '../../src/config/schedules.ts'
import { batchProgress, reviewAge } from '../../src/console/batch-state.ts'
import { conversationCell, selectField } from '../../src/console/blocks.ts'
import { scheduleOf, streamStateOf } from '../../src/console/core/stream-state.ts'
import type { ProjectFrame } from '../../src/console/frame.ts'
import { thread } from '../../src/console/pages/conversations.ts'
import { overviewSentences } from '../../src/console/pages/overview.ts'
import { lakeTable } from '../../src/console/pages/streams.ts'
import { weekSection } from '../../src/console/pages/week.ts'
import type { OverviewData, StreamRow } from '../../src/console/reads.ts'
import { hideMessages, visibleTo } from '../../src/console/screen.ts'
import { ageText, agoText, exactText, markedText, spanText } from '../../src/console/text.ts'
import { timeChart } from '../../src/document/chart.ts'
import { type AuditResult, estimateDifferences } from '../../src/mirror/core/audit.ts'
import { formatTime } from '../../src/values/format.ts'
import { type Html, html } from '../../src/values/html.ts'
import { reportData } from '../analytics/report/report-fixtures.ts'
import { createTempFolder } from '../support/temp-folder.ts'

const now = Date.UTC(2026, 5, 1, 12)
const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString()

const textOf = ({ html }: Html) =>
  html
    .replace(/<[^>]*>/g, '')
    .replace(/\s+/g, ' ')
    .trim()

const row = (over: Partial<StreamRow> = {}): StreamRow => ({
  stream: 'calls',
  syncedAt: ago(240),
  skipped: null,
  failed: null,
  failedSince: null,
  isRunning: false,
  maxAgeMs: 660_000,
  schedule: 'every 5 min',
  rows: 1,
  newest: null,
  due: 0,
  ...over,
})

test.each([
  ['Zoë', 'z@example.com', 'Zoë'],
  [' ', 'z@example.com', 'z@example.com'],
  ['', '\u200b', 'c1'],
  [null, null, 'c1'],
])('a link to a conversation has something to see: name %j, address %j', (name, email, shown) => {
  const cell = conversationCell({ project: 'main' }, { id: 'c1', name, email })
  expect(textOf(cell)).toBe(`${shown} visitor`)
})

test('a list to choose from says where it is cut, and has what was chosen', () => {
  const options = Array.from({ length: 300 }, (_, n) => ({ value: `a${n}`, label: `Agent ${n}` }))
  const listed = (chosen: string, count: number) =>
    selectField('Agent', 'agent', options.slice(0, count), chosen).html
  expect(listed('a1', 200)).not.toContain('not listed')
  const cut = listed('a299', 300)
  expect(cut).toContain('<option value="a199" >Agent 199</option>')
  expect(cut).not.toContain('Agent 200')
  expect(cut).toMatch(
    /<option value="a299" selected>Agent 299<\/option><option disabled>The others are not listed/,
  )
})

describe('a stream is', () => {
  const states: readonly [string, Partial<StreamRow>][] = [
    ['fresh', {}],
    ['late', { syncedAt: ago(700) }],
    ['running', { syncedAt: ago(700), isRunning: true }],
    ['running', { syncedAt: null, isRunning: true }],
    ['unread', { syncedAt: null }],
    ['failing', { failed: 'status 500' }],
    ['skipped', { skipped: 'calls:read', syncedAt: null }],
    // Nobody promises when it is read again.
    ['read', { syncedAt: ago(1e6), maxAgeMs: null }],
  ]
  test.each([
    ['every 5 min', {}, 11 / 60],
    ['every night', { incremental: { kind: 'off' } }, 48 + 1 / 60],
    ['cron 0 * * * *', { incremental: { kind: 'cron', pattern: '0 * * * *' } }, 2 + 1 / 60],
    [
      'cron 0 8 * * mon',
      { incremental: { kind: 'cron', pattern: '0 8 * * mon' }, reconcile: { kind: 'off' } },
      336 + 1 / 60,
    ],
  ] as const)('late after two of its intervals: %s', (schedule, schedules, hours) => {
    const planned = scheduleOf('calls', { ...defaultSchedules, ...schedules }, true)
    expect(planned).toEqual({ schedule, maxAgeMs: expect.closeTo(hours * 3_600_000) })
  })

  test.each(states)('%s', (state, over) => {
    expect(streamStateOf(row(over), now)).toBe(state)
  })
})

const frame: ProjectFrame = {
  viewer: null,
  people: [],
  projects: ['main'],
  project: 'main',
  timeZone: 'UTC',
  now,
  assets: '/a',
  isReadOnly: false,
  canDecide: true,
  approveOwn: true,
}

test('a lake says which moment it shows, or why it cannot be written', () => {
  const folder = createTempFolder()
  const manifest = {
    format: 'deskmirror-lake-1',
    writtenAt: ago(7200),
    project: 'shop',
    removals: 'x',
  }
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify({ ...manifest, objects: [] }))
  const schedule = { kind: 'nightly' } as const
  const lakeOf = (folder: string) => ({ folder, objects: [], schedule, project: null })
  const text = textOf(lakeTable([lakeOf(`${folder}/new`), lakeOf(folder)], frame))
  expect(text).toContain('not written yet')
  expect(text).toContain('every night')
  expect(text).toContain('it has the rows of shop')
})

describe('the overview says', () => {
  const data = (over: Partial<OverviewData> = {}): OverviewData => ({
    streams: [row()],
    workers: [{ holder: 'process 1 on host', queue: 'embedded', since: ago(9), heardAt: ago(1) }],
    gaps: 0,
    open: 0,
    audits: [],
    paused: null,
    held: null,
    moved: null,
    sending: { isStopped: false, isCircuitOpen: false, stop: null, why: null },
    lost: null,
    failures: [],
    writebacks: {},
    blockedLanes: 0,
    waiting: { count: 0, since: null, isDerived: true },
    budget: { limit: 600, from: now - 3_600_000, to: now, stepMs: 60_000, bars: [], pauses: [] },
    runs: [],
    ...over,
  })
  const said = (over: Partial<OverviewData>, frameOver: Partial<ProjectFrame> = {}) =>
    overviewSentences(data(over), { ...frame, ...frameOver }).map(
      ({ kind, text }) => `${kind}: ${textOf(text)}`,
    )

  test('that all is well, with the number', () => {
    expect(said({})).toEqual([
      'fine: 1 of 1 stream is fresh. The oldest, calls, was read 4 min ago (every 5 min).',
      'fine: Nothing is known to be missing.',
      'fine: Nobody waits for an answer.',
    ])
    expect(said({ streams: [row({ syncedAt: null })] })[0]).toBe('note: Nothing has been read yet.')
    const reading = [row({}), row({ stream: 'messages', syncedAt: null })]
    expect(said({ streams: reading })).toContain('note: Not read to the end yet: messages.')
  })

  test('what the audits show', () => {
    const result = (differing: number): AuditResult => ({
      id: 'a',
      stream: 'conversations',
      startedAt: ago(3600),
      finishedAt: ago(60),
      population: 90_000,
      drawn: 10_000,
      compared: 10_000,
      differing,
      corrected: 0,
      gone: 0,
      unreadable: 0,
      requests: 1,
      tookMs: 1,
    })
    expect(said({ audits: estimateDifferences([result(0)], now) })).toContain(
      'fine: Audit: with 95 % confidence fewer than 3 in 10,000 conversations differ. Of 10,000 that were read again, none differed.',
    )
    expect(said({ audits: estimateDifferences([result(2)], now) })).toContain(
      'note: Audit: with 95 % confidence fewer than 7 in 10,000 conversations differ. Of 10,000 that were read again, 2 differed.',
    )
  })

  test('what a person must do', () => {
    expect(said({ writebacks: { draft: 1, uncertain: 3 }, blockedLanes: 2 })).toEqual(
      expect.arrayContaining([
        'act: 1 draft waits for an approver.',
        'act: 3 write-backs may or may not have arrived. Until a person decides, what was queued after it for the same conversation or visitor waits.',
      ]),
    )
  })

  test('what holds all sending, in the words of the page where it is decided', () => {
    const stop = { since: ago(60), by: 'ann', why: 'ann stopped all sending' }
    const held = { ...stop, resumeBy: '--all' }
    const sending = { isStopped: true, isCircuitOpen: true, stop, why: 'the last 5 were uncertain' }
    expect(said({ held, sending }).slice(0, 2)).toEqual([
      'act: All sending was stopped 1 min ago by ann: nothing of any batch leaves until a person goes on.',
      'wrong: The circuit breaker is open: the last 5 were uncertain',
    ])
    expect(
      said({ held: { ...held, resumeBy: '--restored', why: 'the warehouse is older' } })[0],
    ).toBe(
      'act: No write-back has been sent since 2026-06-01 11:59: the warehouse is older. Run deskmirror writeback resume --restored.',
    )
  })

  test('what is late and what fails, but nothing fresh beside it', () => {
    const lines = said({
      streams: [
        row({ syncedAt: ago(900) }),
        row({ stream: 'visitors', failed: 'x' }),
        row({ stream: 'messages' }),
      ],
    })
    expect(lines).toContain('wrong: 1 stream of 3 is late: calls.')
    expect(lines).toContain('wrong: 1 stream cannot be read: visitors.')
    expect(lines.join()).not.toContain('fresh')
  })

  test('without a worker that none runs, and calls nothing late', () => {
    const streams = [row({ syncedAt: ago(90_000), maxAgeMs: null })]
    expect(said({ workers: [], streams }).join()).toMatch(
      /^act: No worker runs: the mirror is as it was 1 d 1 h ago\. .*keeps it current/,
    )
    expect(said({ workers: [], streams }).join()).not.toContain('late')
    expect(said({ workers: [], streams }, { isReadOnly: true })[0]).toBe(
      'note: This warehouse is only looked at here: the mirror is as it was 1 d 1 h ago.',
    )
  })

  test('how many wait, and for how long', () => {
    expect(said({ waiting: { count: 1234, since: ago(7300), isDerived: true } })).toContain(
      'clock: 1,234 conversations wait for an answer, the longest for 2 h.',
    )
    expect(said({ gaps: 7 })).toContain('wrong: 7 gaps: known to be missing.')
  })
})

test('a batch says when it will be done, but not while all sending is stopped', () => {
  const counts: Readonly<Record<string, number>> = { queued: 4, succeeded: 3, uncertain: 2 }
  const batch = { state: 'sending', rows: 9, counts }
  const estimate = { worker: true, takesMs: 120_000 }
  const said = (stop: object | null) => {
    const read = { report: { batch, estimate }, sending: { stop } } as Parameters<
      typeof batchProgress
    >[0]
    return batchProgress(read, { timeZone: 'UTC', now }).text
  }
  expect(said(null)).toBe(
    '5 of 9 settled · 4 to go, in about 2 min, at 12:02, without what waits for a decision',
  )
  expect(said({ since: ago(1), by: 'ann' })).toBe('5 of 9 settled · 4 to go')
  // A verification takes as long as it takes.
  Object.assign(batch, { counts: { sending: 4, succeeded: 3, uncertain: 2 } })
  expect(said(null)).toBe('5 of 9 settled · 4 to go: sent, and not answered yet')
})

describe('the week says', () => {
  const week = (firstDate: string) => {
    const data = {
      period: chooseReportPeriod('last 7 days', '2026-06-01'),
      firstDate,
      mirroredFrom: firstDate,
    }
    const report = buildReport('main', reportData(data), now)
    const [answers, medianSeconds] = [changeOf(1, 1), changeOf(90, 60)]
    return {
      ...report,
      volume: {
        ...report.volume,
        conversationsStarted: changeOf(28, 14, firstDate === '2026-01-01'),
      },
      ai: { ...report.ai, aiOnlyShare: changeOf(0.25, 0.5) },
      responseTimes: [
        {
          which: 'every',
          clock: 'human',
          hours: 'all',
          answers,
          medianSeconds,
          p90Seconds: medianSeconds,
        } as const,
      ],
      days: report.days.map((day) => ({ ...day, waitingAtEnd: 4 })),
    }
  }
  const present = {
    open: { count: '9', more: null },
    waiting: { count: '3', more: html`the longest for 5 min` },
  }
  const said = (data: Parameters<typeof weekSection>[0]) =>
    textOf({ html: weekSection(data, present, frame).html.replaceAll('<p', ' <p') })

  test('each number beside that of the same days of the week before, and who waits now', () => {
    const text = said({ report: week('2026-01-01') })
    expect(text).toContain(
      '2026-05-25 to 2026-05-31, the last that are over and read to their end, beside the 7 days before',
    )
    expect(text).toContain('Conversations started 28 14 before, +14 (+100 %)')
    expect(text).toContain('Until a human answered, median 1 min 30 s 1 min before, +30 s (+50 %)')
    expect(text).toContain(
      'Waiting now 3 the longest for 5 min; 4 a week ago, at the end of the day',
    )
    expect(text).toContain('AI only, of those with the AI 25 % 50 % before, −25 points')
    const page = weekSection({ report: week('2026-01-01') }, present, frame).html
    expect(page).toContain('<a href="/console/p/main/ai?from=2026-05-25&amp;to=2026-05-31">AI only')
  })

  test('that the days before are fewer, where the oldest conversation is of one of them', () => {
    const text = said({ report: week('2026-05-22') })
    expect(text).toContain(
      'The oldest conversation is of 2026-05-22, so the period before may not be whole.',
    )
    expect(text).toMatch(/Conversations started 28 14 before Until/)
    expect(said({ report: week('2026-05-26') })).toContain(
      'There is nothing to compare: no conversation is older than 2026-05-25.',
    )
  })

  test('that its numbers are being counted, or follow the first sync', () => {
    expect(said(null)).toMatch(
      /being counted\. Look again Conversations started – .* Waiting now 3/,
    )
    expect(said({ report: null })).toContain('follow the first sync')
  })
})

test('invisible characters are named, line breaks and emoji stay', () => {
  expect(textOf(exactText('a\u200bb\u202ec'))).toBe('aU+200BbU+202Ec')
  expect(exactText('one\ntwo').html).toContain('one\ntwo')
  expect(textOf(exactText('👩\u200d🚀'))).toBe('👩\u200d🚀')
  expect(textOf(exactText('a\u034f\ufe0f❤\ufe0f'))).toBe('aU+034F U+FE0F❤\ufe0f')
  expect(textOf(exactText('x\u200dy'))).toBe('xU+200Dy')
  // Together and shortened: a customer can send thousands of them.
  expect(textOf(exactText(`a${'\u200b'.repeat(9000)}\u202eb`))).toBe('aU+200B×9000 U+202Eb')
})

test('a thread is exact, and long messages are shortened where all are too long for a page', () => {
  const threadOf = (...lengths: number[]) => {
    const messages = lengths.map((length, n) => ({
      id: String(n),
      sender: 'visitor',
      name: null,
      content: 'x'.repeat(length),
      at: ago(9),
      isDeleted: false,
      role: 'visitor' as const,
    }))
    return textOf(thread({ messages, older: null, changes: [] }, frame))
  }
  expect(threadOf(1, 190_000)).toHaveLength(190_001 + 2 * 'visitor · 2026-06-01 11:59'.length + 1)
  expect(threadOf(1, 300_000)).toContain('xx … and 200,000 more characters')
})

test('words are marked around escaped pieces', () => {
  expect(markedText('<b>order</b> & ORDER', ['order']).html).toBe(
    '<bdi>&lt;b&gt;<mark>order</mark>&lt;/b&gt; &amp; <mark>ORDER</mark></bdi>',
  )
  expect(markedText('Cafés 返金して', ['cafe', '返']).html).toBe(
    '<bdi><mark>Cafés</mark> <mark>返金して</mark></bdi>',
  )
})

test('times are in the time zone of the project, ages have one unit up to a day, and no time is rounded down', () => {
  expect(formatTime(now, 'Europe/Berlin')).toBe('2026-06-01 14:00')
  const times = [59_000, 91_000, 3_590_000, 13_000_000, 200_000_000]
  expect(times.map(spanText)).toEqual([
    '59 s',
    '1 min 31 s',
    '59 min 50 s',
    '3 h 37 min',
    '2 d 8 h',
  ])
  expect(times.map(ageText)).toEqual(['59 s', '2 min', '1 h', '4 h', '2 d 8 h'])
  expect([0, 240].map((seconds) => agoText(ago(seconds), now))).toEqual(['just now', '4 min ago'])
  expect(ageText(0)).toBe('under 1 s')
})

test('bars stack from zero, lines have gaps, and the table has the numbers', () => {
  const chart = (kind: 'stacked bars' | 'lines') =>
    timeChart({
      id: 'c',
      title: 'T',
      kind,
      from: 0,
      to: 120_000,
      stepMs: 60_000,
      times: [0, 60_000],
      series: [
        { name: 'a', style: 'first', values: [10, null] },
        { name: 'b', style: 'second', values: [20, 5] },
      ],
      formatTime: (at) => `${at}`,
      unit: 'requests',
      timeUnit: 'time',
    }).html
  const heights = [
    ...chart('stacked bars').matchAll(/<rect class="(\w+)"[^>]* height="([\d.]+)%"/g),
  ]
  expect(heights.map(([, style, height]) => [style, Math.round(Number(height))])).toEqual([
    ['first', 33],
    ['second', 67],
    ['second', 17],
  ])
  const labels = [...chart('lines').matchAll(/<text class="middle" x="([\d.]+)%"[^>]*>(\d+)</g)]
  expect(labels.map(([, , text]) => Number(text))).toEqual(expect.arrayContaining([0, 60_000]))
  expect(chart('lines')).toContain('<title>60000 · b 5</title>')
  expect(textOf({ html: chart('lines') })).toMatch(/01020 60000–5$/)
})

test('an axis of durations has round times, and the numbers are exact', () => {
  const chart = (median: number) =>
    timeChart({
      id: 'c',
      title: 'T',
      kind: 'lines',
      from: 0,
      to: 120_000,
      stepMs: 60_000,
      times: [0, 60_000],
      series: [{ name: 'median', style: 'first', values: [median, 60] }],
      formatTime: (at) => `${at}`,
      unit: null,
      timeUnit: 'day',
      unfinishedFrom: 60_000,
    }).html
  const ticks = (median: number) =>
    [...chart(median).matchAll(/<text class="end" x="-8"[^>]*>([^<]*)</g)].map(([, text]) => text)
  expect(ticks(6600)).toEqual(['0 s', '30 min', '1 h', '1 h 30 min', '2 h'])
  expect(ticks(17_000)).toEqual(['0 s', '2 h', '4 h', '6 h'])
  expect(ticks(100)).toEqual(['0 s', '30 s', '1 min', '1 min 30 s', '2 min'])
  expect(ticks(900_000)).toEqual(['0 s', '3 d', '6 d', '9 d', '12 d'])
  expect(textOf({ html: chart(6600) })).toMatch(/ 01 h 50 min 60000 \(so far\)1 min$/)
})

test('a duration far beyond the others does not flatten them: it is marked at the edge, with its length', () => {
  const days = Array.from({ length: 20 }, (_, n) => n)
  const chart = (last: number) =>
    timeChart({
      id: 'c',
      title: 'T',
      kind: 'lines',
      from: 0,
      to: 20_000,
      stepMs: 1000,
      times: days.map((n) => n * 1000),
      series: [
        { name: 'median', style: 'first', values: days.map((n) => (n === 19 ? last : 3600 + n)) },
      ],
      formatTime: (at: number) => `${at}`,
      unit: null,
      timeUnit: 'day',
    }).html
  const far = chart(86_400)
  expect(far).toMatch(/<path class="dot first" d="[^"]*"><title>19000 · median 1 d<\/title>/)
  expect(far).toContain('▲ up to 1 d<')
  expect(far.match(/<text class="end" x="-8"[^>]*>[^<]*</g)?.at(-1)).toContain('>1 h 30 min<')
  expect(chart(7200)).not.toMatch(/▲|<path class="dot/)
})

test('what customers said, and who they are, is left out of whatever is hidden', () => {
  const found = {
    id: 'c1',
    name: 'Zoë',
    messages: [{ id: '1', content: 'x', name: 'Ann', at: 't' }],
    fields: [{ name: 'plan', value: 'gold' }],
    groups: [
      { count: 1, samples: [{ changes: [{ field: 'email', old: 'z@x.example', new: null }] }] },
    ],
  }
  expect(hideMessages(found)).toEqual({
    id: 'c1',
    name: null,
    messages: [{ id: '1', content: null, name: null, at: 't' }],
    fields: [],
    groups: [{ count: 1, samples: [] }],
  })
})

test('a new field with a text does not compile before it is said whether everyone may read it', () => {
  const frame = { viewer: { name: 'hal', role: 'viewer' as const, hidesMessages: true } }
  expect(visibleTo(frame, { id: 'c1', rows: [{ words: 'x', waits: 1 }] })).toEqual({
    id: 'c1',
    rows: [{ words: null, waits: 1 }],
  })
  // @ts-expect-error: is it a customer's?
  visibleTo(frame, { id: 'c1', preview: 'x' })
  // @ts-expect-error: also within others.
  visibleTo(frame, { rows: [{ message: { subjects: ['x'] } }] })
})

test('a review says when it was made, and how old the mirror was then', () => {
  const frame = { timeZone: 'UTC', now } as ProjectFrame
  const said = (mirrorAsOf: string | null) => textOf(reviewAge({ at: now, mirrorAsOf }, frame))
  const live = 'every send looks at the live record first'
  expect(said(ago(240))).toBe(
    `as the mirror showed it at 12:00:00, 4 min after it was last read to its end; ${live}`,
  )
  expect(said(null)).toBe(
    `as the mirror showed it at 12:00:00, which has never been read to its end; ${live}`,
  )
})
