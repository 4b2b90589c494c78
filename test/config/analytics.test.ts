/**
 * The settings below `analytics` in deskmirror.yaml: what they mean, how projects inherit them,
 * what is refused.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseDays, parseOpeningHours } from '../../src/config/business-hours.ts'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigurationError } from '../../src/config/problems.ts'
import { createTempFolder } from '../support/temp-folder.ts'

const project = `base_url: https://api.example.com/v1
projects:
  shop:
    project_id: 7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f
`

function load(text: string) {
  const folder = createTempFolder()
  writeFileSync(join(folder, 'deskmirror.yaml'), text)
  return loadConfig('mirror', folder, {})
}

/** The settings of the shop, which has these lines. */
function analyticsOf(lines: string) {
  return load(`${project}    analytics:\n${indent(lines)}`).projects[0]!.analytics
}

/** `deskmirror.yaml:6 …`: the first of the lines is the sixth of the file. */
function problemsOf(lines: string): string[] {
  try {
    analyticsOf(lines)
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    return error.problems.map(({ where, why }) =>
      `${where} ${why}`.replace('projects.shop.analytics.', ''),
    )
  }
  return []
}

const indent = (lines: string) => lines.replaceAll(/^/gm, '      ')
const hours = (opens: number, closes: number) => ({ opens: opens * 60, closes: closes * 60 })

test('without settings, business is open round the clock and nothing is aimed at', () => {
  expect(load(project).projects[0]!.analytics).toEqual({
    roles: {},
    hours: null,
    holidays: {},
    visitGapSeconds: 1800,
    availabilityHoldSeconds: 600,
    targets: [],
    calls: {
      visitor: null,
      ended: null,
      outcome: null,
      duration: null,
      direction: null,
      agent: null,
    },
    fields: { activityKind: null, activityPage: null },
    personalData: true,
  })
})

test('hours are written by day, and holidays by date', () => {
  const { hours: weekly, holidays } = analyticsOf(`hours:
  mon-fri: [9:00-12:30, 13:00-18:00]
  sat: 10-14
holidays: { 2025-12-24: 9:00-12:00, 2025-12-25: closed }`)
  const workday = [
    { opens: 540, closes: 750 },
    { opens: 780, closes: 1080 },
  ]
  expect(weekly).toEqual({
    1: workday,
    2: workday,
    3: workday,
    4: workday,
    5: workday,
    6: [hours(10, 14)],
  })
  expect(holidays).toEqual({ '2025-12-24': [hours(9, 12)], '2025-12-25': [] })
})

describe('days are written in several ways', () => {
  const cases: Readonly<Record<string, readonly number[] | undefined>> = {
    mon: [1],
    Monday: [1],
    'mon-fri': [1, 2, 3, 4, 5],
    'fri - mon': [5, 6, 7, 1],
    'sat, sun': [6, 7],
    'mon-wed,fri': [1, 2, 3, 5],
    'mon-sun': [1, 2, 3, 4, 5, 6, 7],
    weekdays: undefined,
    'mon-tue-wed': undefined,
    mo: undefined,
    '': undefined,
  }
  test.each(Object.entries(cases))('%s', (text, days) => expect(parseDays(text)).toEqual(days))
})

describe('hours are written in several ways', () => {
  const cases: Readonly<Record<string, readonly object[] | undefined>> = {
    '9:00-17:00': [hours(9, 17)],
    '9-17': [hours(9, 17)],
    '0:00-24:00': [hours(0, 24)],
    '9-12, 13-18': [hours(9, 12), hours(13, 18)],
    closed: [],
    '17:00-9:00': undefined,
    '9:00-9:00': undefined,
    '9:00-24:01': undefined,
    '9:60-12': undefined,
    nine: undefined,
  }
  test.each(Object.entries(cases))('%s', (text, stretches) =>
    expect(parseOpeningHours(text)).toEqual(stretches),
  )
})

test('hours that touch or overlap are one stretch', () => {
  expect(analyticsOf('hours: { mon: [13:00-18:00, 9:00-12:00, 11:00-13:00] }').hours).toEqual({
    1: [hours(9, 18)],
  })
})

test('targets have a clock, the waits they are for, and the days they hold', () => {
  const { targets } = analyticsOf(`targets:
  - { name: first answer, within: 15m, hours: business, from: 2025-01-01 }
  - { name: human, clock: human, which: every, within: 1h, to: 2025-07-01 }`)
  expect(targets).toEqual([
    {
      name: 'first answer',
      clock: 'any',
      which: 'first',
      withinSeconds: 900,
      inBusinessHours: true,
      from: '2025-01-01',
      to: null,
    },
    {
      name: 'human',
      clock: 'human',
      which: 'every',
      withinSeconds: 3600,
      inBusinessHours: false,
      from: null,
      to: '2025-07-01',
    },
  ])
})

test('roles, durations and the names of undocumented fields', () => {
  const settings = analyticsOf(`roles: { bot: ai, operator: human, system: other }
visit_gap: 45m
availability_holds: 90s
calls: { visitor: visitor.id, duration: durationSeconds }
fields: { activity_page: url }
personal_data: false`)
  expect(settings).toMatchObject({
    roles: { bot: 'ai', operator: 'human', system: 'other' },
    visitGapSeconds: 2700,
    availabilityHoldSeconds: 90,
    calls: { visitor: 'visitor.id', ended: null, outcome: null, duration: 'durationSeconds' },
    fields: { activityKind: null, activityPage: 'url' },
    personalData: false,
  })
})

test('a project inherits each setting that it does not change', () => {
  const { projects } = load(`analytics:
  hours: { mon: 9-17 }
  visit_gap: 10m
${project}    analytics: { visit_gap: 20m }
  school: { project_id: school }
`)
  expect(projects.map(({ analytics }) => [analytics.hours, analytics.visitGapSeconds])).toEqual([
    [{ 1: [hours(9, 17)] }, 1200],
    [{ 1: [hours(9, 17)] }, 600],
  ])
})

test('every problem is reported with its line', () => {
  const problems = problemsOf(`hours:
  mon-fri: 9:00-17:00
  weekday: 9:00-12:00
  weekend: closed
holidays:
  2025-02-30: closed
  2025-12-24:
    - 9:00-12:00
    - noon
visit_gap: 100ms
roles: { bot: robot }
targets:
  - { name: first, within: 15m }
  - { name: first, within: 20m }
  - { name: late, within: soon, from: 2025-02-01 }
  - { name: ended, within: 1h, from: 2025-02-01, to: 2025-01-01, color: red }
calls: { visitor: "a b" }
fields: { page: url }
personal_data: perhaps
colour: red`)
  expect(problems.toSorted((a, b) => lineOf(a) - lineOf(b))).toEqual([
    'deskmirror.yaml:8 hours.weekday is "9:00-12:00": name days like mon, mon-fri or sat, sun',
    'deskmirror.yaml:9 hours.weekend is "closed": name days like mon, mon-fri or sat, sun',
    'deskmirror.yaml:11 holidays.2025-02-30 is "closed": name a date, like 2025-12-24',
    'deskmirror.yaml:14 holidays.2025-12-24 is "noon": write hours like 9:00-12:30 (up to 24:00), a list of them, or closed',
    'deskmirror.yaml:15 visit_gap is "100ms": write a duration of at least 1s, like 30m',
    'deskmirror.yaml:16 roles.bot is "robot": write visitor, human, ai or other',
    'deskmirror.yaml:20 targets.within is "soon": write a duration of at least 1s, like 30m',
    'deskmirror.yaml:21 targets.color is an unknown setting',
    'deskmirror.yaml:21 targets.to is "2025-01-01": must end after it begins',
    'deskmirror.yaml:22 calls.visitor is "a b": write the name of a field, or a path like visitor.id',
    'deskmirror.yaml:23 fields.page is an unknown setting',
    'deskmirror.yaml:24 personal_data is "perhaps": write true or false',
    'deskmirror.yaml:25 colour is an unknown setting',
  ])
})

const lineOf = (problem: string) => Number(/:(\d+)/.exec(problem)?.[1])

test('a day has one line', () => {
  expect(problemsOf('hours: { mon-fri: 9-17, fri: 9-12 }')).toEqual([
    'deskmirror.yaml:6 hours.fri is "9-12": names a day that another line names, too: keep one',
  ])
})

test('targets of one name begin on different days', () => {
  expect(
    problemsOf(`targets:
  - { name: first, within: 15m }
  - { name: first, within: 20m }
  - { name: first, within: 30m, from: 2025-01-01 }`),
  ).toEqual([
    'deskmirror.yaml:8 targets is a map: has the name of another target: give it another one, or another from',
  ])
})

test('a line that is no map is refused', () => {
  expect(() => load(`${project}    analytics: on\n`)).toThrow(/analytics is "on": write a map/)
})
