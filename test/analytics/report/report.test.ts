/** The report of a project as a document. */
import { expect, test } from 'vitest'
import { chooseReportPeriod } from '../../../src/analytics/core/report-period.ts'
import { buildReport } from '../../../src/analytics/report/report.ts'
import type { ReportData } from '../../../src/analytics/sql/report-data.ts'
import { now, periodData, reportData } from './report-fixtures.ts'

const report = (over: Partial<ReportData> = {}) => buildReport('shop', reportData(over), now)
const whats = (over: Partial<ReportData>) => report(over).uncertainties.map(({ what }) => what)

test('numbers stand beside those of the period before', () => {
  const before = periodData({ counts: { ...periodData().counts, started: 4 } })
  const { volume, period } = report({ before })
  expect(volume.conversationsStarted).toEqual({
    value: 8,
    before: 4,
    change: 4,
    changePercent: 100,
    comparison: 'up',
  })
  const week = { from: '2026-11-09', to: '2026-11-15' }
  expect(period).toEqual({ ...week, days: 7, isoWeek: '2026-W46', isOver: true, whole: week })
})

test('shares are of the conversations that they can be about', () => {
  const { ai } = report()
  expect(ai.withAiShare.value).toBe(4 / 8)
  expect(ai.aiOnlyShare.value).toBe(3 / 4)
  expect(ai.handedOverShare.value).toBe(1 / 4)
  const [target] = report().targets
  expect(target?.metShare.value).toBe(6 / 8)
})

test('a share of nothing is no number', () => {
  const counts = { ...periodData().counts, started: 0, aiOnly: 0, humanAndAi: 0 }
  const { ai } = report({ current: periodData({ counts }) })
  expect(ai.aiOnlyShare).toMatchObject({ value: null, comparison: 'nothing now' })
  expect(ai.withAiShare.value).toBeNull()
})

test('zeros from before the first conversation are not compared with', () => {
  const { volume, backlog, agents, responseTimes } = report({ firstDate: '2026-11-09' })
  expect(volume.waits).toMatchObject({ value: 10, before: null, comparison: 'nothing before' })
  expect(backlog.openAtEnd.before).toBeNull()
  expect(agents[0]?.messages.before).toBeNull()
  expect(responseTimes[0]?.medianSeconds.before).toBeNull()
})

test('a period before that the mirror does not have whole is not compared with, number by number', () => {
  const compared = ({
    firstDate = '2026-01-02',
    firstCallDate = '2026-01-02',
    mirroredFrom = '2026-01-01',
  }) => {
    const { volume, backlog, calls } = report({ firstDate, firstCallDate, mirroredFrom })
    const numbers = [volume.waits, backlog.opened, backlog.openAtEnd, calls?.calls]
    return numbers.map((number) => [number?.comparison, number?.changePercent])
  }
  const [same, unknown] = [
    ['unchanged', 0],
    ['before not whole', null],
  ]
  expect(compared({})).toEqual([same, same, same, same])
  expect(compared({ firstDate: '2026-11-03' })).toEqual([unknown, unknown, unknown, same])
  expect(compared({ mirroredFrom: '2026-11-03' })).toEqual([same, same, unknown, same])
  expect(compared({ firstCallDate: '2026-11-03' })).toEqual([same, same, same, unknown])
  expect(compared({ firstDate: '2026-11-02', firstCallDate: '' })).toEqual([same, same, same, same])
})

test('nothing is compared while no day of the period is over', () => {
  const { volume } = report({ period: chooseReportPeriod({ from: '2026-11-18' }, '2026-11-18') })
  expect(volume.waits).toMatchObject({ value: 10, before: null, change: null })
})

test('a new agent had no messages before', () => {
  const { agents } = report({ before: periodData({ agents: [] }) })
  expect(agents[0]).toMatchObject({
    messages: { before: 0, comparison: 'from none' },
    medianSeconds: { before: null },
  })
})

test('without business hours, times within them are left out', () => {
  expect(report().responseTimes.map(({ hours }) => hours)).toEqual(['all', 'business'])
  expect(report({ hasBusinessHours: false }).responseTimes.map(({ hours }) => hours)).toEqual([
    'all',
  ])
})

test('calls that are not mirrored are not zero calls', () => {
  const { project } = reportData()
  expect(report({ project: { ...project, callsAsOf: null } }).calls).toBeNull()
})

test('every day of the period is there, also one without any number', () => {
  const known = { ...periodData().counts, date: '2026-11-10', started: 1, waits: 2, handlings: 0 }
  const { days } = report({
    days: [{ ...known, openAtEnd: 3, waitingAtEnd: 1, humanAnswerMedianSeconds: 5 }],
  })
  expect(days.map(({ date, weekday, waits }) => [date, weekday, waits])).toEqual([
    ['2026-11-09', 1, 0],
    ['2026-11-10', 2, 2],
    ['2026-11-11', 3, 0],
    ['2026-11-12', 4, 0],
    ['2026-11-13', 5, 0],
    ['2026-11-14', 6, 0],
    ['2026-11-15', 7, 0],
  ])
  expect(days[0]?.openAtEnd).toBeNull()
  const unfinished = report({ period: chooseReportPeriod({ to: '2026-11-15' }, '2026-11-14') })
  expect(unfinished.days.map(({ isWhole }) => isWhole)).toEqual([
    true,
    true,
    true,
    true,
    true,
    false,
    false,
  ])
})

const { project, current } = { project: reportData().project, current: periodData() }
const stream = {
  stream: 'calls',
  syncedAt: '2026-11-18T08:00:00Z',
  skipped: null,
  failed: null,
  openGaps: 0,
  neverRead: 0,
}

const uncertain: readonly (readonly [string, Partial<ReportData>, readonly string[]])[] = [
  [
    'nothing, if all is known',
    { current: { ...current, calls: { ...current.calls, withLength: 4 } } },
    [],
  ],
  ['calls of unknown length', {}, ['calls without a length']],
  [
    'facts that are due',
    { project: { ...project, factsDue: 3 } },
    ['facts due', 'calls without a length'],
  ],
  [
    'a rebuild, which explains why facts are due',
    { project: { ...project, factsDue: 3, isRebuilding: true } },
    ['facts rebuilding', 'calls without a length'],
  ],
  [
    'a mirror that was never complete',
    { project: { ...project, asOf: null, callsAsOf: null } },
    ['not complete'],
  ],
  [
    // In Berlin it is Monday already.
    'nothing about a mirror that reaches the end of the last local day',
    { project: { ...project, asOf: '2026-11-15T23:00:00Z', callsAsOf: null } },
    [],
  ],
  [
    'a mirror that ends within the period',
    { project: { ...project, asOf: '2026-11-15T22:59:59Z', callsAsOf: null } },
    ['not complete'],
  ],
  [
    'a period that is not over',
    { today: '2026-11-15', project: { ...project, callsAsOf: null } },
    ['period not over'],
  ],
  [
    'a period before that begins before the first conversation',
    { firstDate: '2026-11-03', project: { ...project, callsAsOf: null } },
    ['period before not whole'],
  ],
  [
    'no period before',
    { firstDate: null, project: { ...project, callsAsOf: null } },
    ['no period before'],
  ],
  [
    'days before the mirror began',
    {
      mirroredFrom: '2026-11-10',
      project: { ...project, callsAsOf: null, mirroredSince: '2026-11-10T00:00:00Z' },
    },
    ['history before the mirror'],
  ],
  [
    'incomplete conversations',
    {
      project: { ...project, callsAsOf: null },
      current: { ...current, counts: { ...current.counts, incomplete: 1 } },
    },
    ['incomplete conversations'],
  ],
  [
    'streams, each reason once',
    {
      project: { ...project, callsAsOf: null },
      streams: [
        stream,
        { ...stream, stream: 'visitors', failed: 'no answer', openGaps: 2, syncedAt: null },
      ],
    },
    ['stream visitors', 'stream visitors', 'stream visitors'],
  ],
  [
    'waits whose target is undecided',
    {
      project: { ...project, callsAsOf: null },
      current: periodData({
        targets: current.targets.map((target) => ({ ...target, open: 1 })),
      }),
    },
    ['targets undecided'],
  ],
  [
    'rows of all history',
    {
      project: { ...project, callsAsOf: null },
      quality: [{ what: 'deleted messages', meaning: 'm', all: 9, wrong: 1 }],
    },
    ['all history: deleted messages'],
  ],
]

for (const [title, data, expected] of uncertain) {
  test(`what is not certain: ${title}`, () => {
    expect(whats(data)).toEqual(expected)
  })
}
