/** What is asked for when: the decisions of the worker, without a queue. */
import { describe, expect, test } from 'vitest'
import { parseSchedulerJob, parseSyncJob, syncJobId } from '../../jobs/queues.ts'
import { settingsNeedingRestart } from '../../jobs/restart-required.ts'
import { type CompletionTimes, overdueSyncJobs, syncJobsOfSchedule } from '../../jobs/schedule-plan.ts'
import { afterFailedFiring } from '../../jobs/scheduler-jobs.ts'
import { schedulesForProjects } from '../../jobs/schedules.ts'
import type { Config, ProjectConfig } from '../../src/config/load.ts'
import { type StreamName, streamNames } from '../../src/core/row.ts'
import { defaultSchedules } from '../../src/core/schedule.ts'
import { secret } from '../../src/core/secret.ts'
import { configOf } from '../sync/sync-sandbox.ts'

const desk: ProjectConfig = {
  name: 'desk',
  projectId: '11111111-1111-4111-8111-111111111111',
  baseUrl: new URL('https://service.example'),
  widgetUrl: new URL('https://service.example'),
  apiKey: secret('svc_live_test'),
  webhookSecrets: [],
  rate: { requests: 600, windowMs: 60_000 },
  writeRate: { requests: 120, windowMs: 60_000 },
  reserve: 0.1,
  startDate: null,
  timeZone: 'Asia/Tokyo',
  lookBackMs: 600_000,
  verifyAfterMs: 120_000,
  resendReplies: true,
  approveOver: null,
  streams: streamNames,
  schedules: defaultSchedules,
  schema: 'discover',
  readOnly: false,
}

describe('a round begins', () => {
  const streams = (round: Parameters<typeof syncJobsOfSchedule>[0], project: ProjectConfig = desk) =>
    syncJobsOfSchedule(round, project).map(({ queue, job: pass }) => `${queue}: ${pass.stream}, ${pass.mode}`)

  test('incremental: with the lists; what hangs on their rows is announced by them', () => {
    expect(streams('incremental')).toEqual([
      'passes: conversations, incremental',
      'passes: visitors, incremental',
      'passes: calls, incremental',
    ])
  })

  test('reconcile: with everything that can be compared, behind whatever is new', () => {
    expect(streams('reconcile').every((it) => /^backfill: \w+, reconcile$/.test(it))).toBe(true)
    expect(streams('reconcile')).toHaveLength(streamNames.length - 1)
  })

  test('analytics and availability: with themselves', () => {
    expect(streams('analytics')).toEqual(['passes: analytics, incremental'])
    expect(streams('availability')).toEqual(['passes: availability, incremental'])
  })

  test('without streams that the project does not mirror', () => {
    const few = { ...desk, streams: ['messages', 'visitors'] as const }
    expect(streams('incremental', few)).toEqual(['passes: visitors, incremental'])
    expect(streams('analytics', few)).toEqual([])
  })
})

describe('schedules', () => {
  const many = Array.from({ length: 6000 }, (_, n) => ({ ...desk, name: `desk-${n}`, projectId: `project-${n}` }))
  const of = (project: Partial<ProjectConfig>) => schedulesForProjects([{ ...desk, ...project }]).map(({ id }) => id)

  test('are four of each project, and one for the house', () => {
    expect(schedulesForProjects([desk]).map(({ id }) => id)).toEqual([
      'incremental/desk',
      'reconcile/desk',
      'analytics/desk',
      'availability/desk',
      'housekeeping',
    ])
  })

  test('are left out where they are off, and where the project mirrors nothing that they would begin with', () => {
    expect(of({ schedules: { ...defaultSchedules, reconcile: { kind: 'off' } } })).not.toContain('reconcile/desk')
    expect(of({ streams: ['conversations', 'messages'] })).toEqual([
      'incremental/desk',
      'reconcile/desk',
      'housekeeping',
    ])
  })

  test('of many projects are spread evenly over their period, and stay where they are', () => {
    const offsets = schedulesForProjects(many).flatMap(({ id, recurrence: rhythm }) =>
      id.startsWith('incremental/') && 'every' in rhythm ? [rhythm.offset] : [],
    )
    const minutes = Array.from({ length: 5 }, (_, n) => offsets.filter((at) => Math.floor(at / 60_000) === n).length)
    for (const minute of minutes) expect(Math.abs(minute - 1200)).toBeLessThan(150)
    expect(schedulesForProjects(many.toReversed()).find(({ id }) => id === 'incremental/desk-7')).toEqual(
      schedulesForProjects(many).find(({ id }) => id === 'incremental/desk-7'),
    )
  })

  test('of the night begin between 1 and 5, and analytics after 5, by the clock of the project', () => {
    const nightly = (round: string) =>
      schedulesForProjects(many).flatMap(({ id, recurrence: rhythm }) =>
        id.startsWith(`${round}/`) && 'pattern' in rhythm
          ? [{ ...rhythm, hour: Number(rhythm.pattern.split(' ')[1]) }]
          : [],
      )
    expect(new Set(nightly('reconcile').map(({ hour }) => hour))).toEqual(new Set([1, 2, 3, 4]))
    expect(new Set(nightly('analytics').map(({ hour }) => hour))).toEqual(new Set([5]))
    expect(new Set(nightly('reconcile').map(({ tz }) => tz))).toEqual(new Set(['Asia/Tokyo']))
  })

  test('by cron are read in the time zone of the project', () => {
    const schedules = { ...defaultSchedules, reconcile: { kind: 'cron', pattern: '30 2 * * 1' } } as const
    expect(
      schedulesForProjects([{ ...desk, schedules }]).find(({ id }) => id === 'reconcile/desk')?.recurrence,
    ).toEqual({
      pattern: '30 2 * * 1',
      tz: 'Asia/Tokyo',
    })
  })
})

describe('the sweep finds', () => {
  const now = Date.UTC(2026, 5, 1)
  const minute = 60_000
  const all = (agoMs: number): CompletionTimes =>
    new Map([[desk.projectId, new Map(streamNames.map((it) => [it, now - agoMs]))]])
  const found = (
    ends: CompletionTimes,
    due: Parameters<typeof overdueSyncJobs>[2] = new Map(),
    project: ProjectConfig = desk,
  ) => overdueSyncJobs([project], ends, due, now).map(({ queue, job: pass }) => `${queue}: ${pass.stream}`)

  test('nothing, where every stream has just come to its end', () => {
    expect(found(all(minute))).toEqual([])
  })

  test('streams that have missed two rounds', () => {
    expect(found(all(3 * minute))).toEqual(['passes: availability'])
    expect(found(all(11 * minute))).toEqual([
      'passes: conversations',
      'passes: visitors',
      'passes: calls',
      'passes: availability',
    ])
  })

  test('a project that was never read, but for the rollups: how far back they go is not known before the lists are read', () => {
    const waiting = ['passes: conversations', 'passes: visitors', 'passes: calls', 'passes: availability']
    expect(found(new Map())).toEqual(waiting)
    const ends = (lists: readonly StreamName[]) =>
      new Map([[desk.projectId, new Map(lists.map((list) => [list, now] as const))]])
    expect(found(ends(['conversations', 'visitors']))).toEqual(['passes: calls', 'passes: availability'])
    expect(found(ends(['conversations', 'visitors', 'calls']))).toEqual(['passes: analytics', 'passes: availability'])
    expect(found(new Map(), new Map(), { ...desk, startDate: 0 })).toHaveLength(5)
    expect(found(new Map(), new Map(), { ...desk, streams: ['analytics'] })).toEqual(['passes: analytics'])
  })

  test('children that nobody announced, behind what is new', () => {
    expect(found(all(minute), new Map([[desk.projectId, ['messages']]]))).toEqual(['backfill: messages'])
  })

  test('nothing that is off or not mirrored', () => {
    const off = { kind: 'off' } as const
    const none = { incremental: off, reconcile: off, analytics: off, availability: off }
    const due = new Map([[desk.projectId, ['messages', 'visitor_activity'] as const]])
    expect(found(new Map(), due, { ...desk, schedules: none })).toEqual([])
    expect(found(all(minute), due, { ...desk, streams: ['conversations', 'messages'] })).toEqual(['backfill: messages'])
  })
})

describe('a job', () => {
  const pass = { project: 'desk', stream: 'messages', mode: 'incremental' } as const

  test('carries names and nothing else', () => {
    expect(parseSyncJob(pass)).toEqual(pass)
    expect(parseSchedulerJob({ round: 'analytics', project: 'desk' })).toEqual({ round: 'analytics', project: 'desk' })
    expect(parseSchedulerJob({ round: 'housekeeping' })).toEqual({ round: 'housekeeping' })
  })

  test.for([
    { ...pass, apiKey: 'svc_live_x' },
    { ...pass, stream: 'letters' },
    { ...pass, mode: 'full' },
    { ...pass, project: '' },
    { ...pass, project: 7 },
    null,
    'messages',
  ])('that is not like that is nobody’s: %j', (data) => {
    expect(parseSyncJob(data)).toBeNull()
  })

  test('is the same as another one of its project, stream and mode', () => {
    expect(syncJobId(pass)).toBe(syncJobId({ ...pass }))
    const others = [
      { ...pass, mode: 'reconcile' as const },
      { ...pass, stream: 'calls' as const },
      { ...pass, project: 'other' },
    ]
    expect(new Set([pass, ...others].map(syncJobId)).size).toBe(4)
  })

  test('of a round of the night is tried for an hour; one of the day comes again by itself', () => {
    const minute = 60_000
    const verdict = (round: 'incremental' | 'availability' | 'reconcile' | 'analytics', ms: number) =>
      afterFailedFiring({ round, project: 'desk' }, 'away', ms).do
    expect([verdict('incremental', minute), verdict('availability', minute)]).toEqual(['give up', 'give up'])
    expect([verdict('reconcile', minute), verdict('analytics', minute)]).toEqual(['again', 'again'])
    expect(verdict('reconcile', 61 * minute)).toBe('give up')
  })
})

describe('a changed configuration needs a restart', () => {
  const config: Config = configOf('sqlite:desk.db', desk)

  test('for what the process holds open', () => {
    const next = { ...config, databaseUrl: 'sqlite:other.db', concurrency: 2, httpToken: secret('another') }
    expect(settingsNeedingRestart(config, next)).toEqual(['database_url', 'http_token', 'concurrency'])
  })

  test('not for projects, keys and schedules', () => {
    const other = { ...desk, apiKey: secret('svc_live_new'), streams: ['calls'] as const }
    expect(settingsNeedingRestart(config, { ...config, projects: [other, { ...desk, name: 'second' }] })).toEqual([])
  })
})
