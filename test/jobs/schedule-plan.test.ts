/** The worker's scheduling decisions, without a queue. */
import { describe, expect, test } from 'vitest'
import { afterFailedFiring } from '../../jobs/job-types.ts'
import { syncJobsToRetry } from '../../jobs/maintenance.ts'
import { jobId, parseJob } from '../../jobs/queues.ts'
import {
  type CompletionTimes,
  lakeFiredAt,
  missedSyncJobs,
  overdueSyncJobs,
  schedulesForProjects,
  syncJobsOfSchedule,
} from '../../jobs/schedule-plan.ts'
import { type StreamName, streamNames } from '../../schema/stream-specs.ts'
import {
  type Config,
  defaultProject,
  type ProjectConfig,
  settingsNeedingRestart,
} from '../../src/config/config.ts'
import { defaultSchedules, type Schedule } from '../../src/config/schedules.ts'
import type { FailingJob } from '../../src/maintenance/maintenance.ts'
import { secret } from '../../src/values/secret.ts'
import { configOf } from '../mirror/sync/sync-sandbox.ts'

const shop = defaultProject({
  name: 'shop',
  projectId: '11111111-1111-4111-8111-111111111111',
  baseUrl: new URL('https://service.example'),
  apiKey: secret('svc_live_test'),
  timeZone: 'Asia/Tokyo',
})

describe('a schedule firing starts', () => {
  const streams = (
    schedule: Parameters<typeof syncJobsOfSchedule>[0],
    project: ProjectConfig = shop,
  ) =>
    syncJobsOfSchedule(schedule, project).map(
      ({ queue, job }) => `${queue}: ${job.stream}, ${job.mode}`,
    )

  test('incremental: the lists, which enqueue their children', () => {
    expect(streams('incremental')).toEqual([
      'sync: conversations, incremental',
      'sync: visitors, incremental',
      'sync: calls, incremental',
    ])
  })

  test('reconcile: everything that can be compared, in the backfill queue', () => {
    expect(
      streams('reconcile').every((planned) => /^backfill: \w+, reconcile$/.test(planned)),
    ).toBe(true)
    expect(streams('reconcile')).toHaveLength(streamNames.length - 1)
  })

  test('analytics and availability: their own streams', () => {
    expect(streams('analytics')).toEqual(['sync: analytics, incremental'])
    expect(streams('availability')).toEqual(['sync: availability, incremental'])
  })

  test('audit: the streams whose rows are drawn, in a queue of their own', () => {
    expect(streams('audit')).toEqual(['audits: conversations, audit', 'audits: visitors, audit'])
  })

  test('only streams that the project mirrors', () => {
    const few = { ...shop, streams: ['messages', 'visitors'] as const }
    expect(streams('incremental', few)).toEqual(['sync: visitors, incremental'])
    expect(streams('analytics', few)).toEqual([])
  })
})

test('sync jobs that the warehouse failed run again, an audit in its own queue', () => {
  const failing = (mode: string, isWarehouseError = true): FailingJob => ({
    identity: { job: 'sync', project: shop, key: `visitors/${mode}`, stream: 'visitors', mode },
    failure: {
      job: 'sync',
      projectId: shop.projectId,
      key: '',
      since: 0,
      lastAt: 0,
      failures: 1,
      reason: '',
    },
    isWarehouseError,
  })
  const planned = syncJobsToRetry([
    failing('reconcile'),
    failing('audit'),
    failing('incremental', false),
  ])
  expect(planned.map(({ queue, job }) => `${queue}: ${job.mode}`)).toEqual([
    'sync: reconcile',
    'audits: audit',
  ])
})

describe('schedules', () => {
  const many = Array.from({ length: 6000 }, (_, n) => ({
    ...shop,
    name: `shop-${n}`,
    projectId: `project-${n}`,
  }))
  const of = (project: Partial<ProjectConfig>) =>
    schedulesForProjects([{ ...shop, ...project }]).map(({ id }) => id)

  test('are five per project, and one for housekeeping', () => {
    expect(schedulesForProjects([shop]).map(({ id }) => id)).toEqual([
      'incremental/shop',
      'reconcile/shop',
      'analytics/shop',
      'availability/shop',
      'audit/shop',
      'housekeeping',
    ])
  })

  test('are left out if they are off, or if the project mirrors none of their streams', () => {
    expect(of({ schedules: { ...defaultSchedules, reconcile: { kind: 'off' } } })).not.toContain(
      'reconcile/shop',
    )
    expect(of({ streams: ['calls'] })).toEqual([
      'incremental/shop',
      'reconcile/shop',
      'housekeeping',
    ])
  })

  test('of many projects are spread evenly over their period, and are stable', () => {
    const offsets = schedulesForProjects(many).flatMap(({ id, recurrence }) =>
      id.startsWith('incremental/') && 'every' in recurrence ? [recurrence.offset] : [],
    )
    const minutes = Array.from(
      { length: 5 },
      (_, n) => offsets.filter((at) => Math.floor(at / 60_000) === n).length,
    )
    for (const minute of minutes) expect(Math.abs(minute - 1200)).toBeLessThan(150)
    expect(
      schedulesForProjects(many.toReversed()).find(({ id }) => id === 'incremental/shop-7'),
    ).toEqual(schedulesForProjects(many).find(({ id }) => id === 'incremental/shop-7'))
  })

  test('at night start between 1 and 5, analytics after 5, and audits before 1, in the time zone of the project', () => {
    const nightly = (schedule: string) =>
      schedulesForProjects(many).flatMap(({ id, recurrence }) =>
        id.startsWith(`${schedule}/`) && 'pattern' in recurrence
          ? [{ ...recurrence, hour: Number(recurrence.pattern.split(' ')[1]) }]
          : [],
      )
    expect(new Set(nightly('reconcile').map(({ hour }) => hour))).toEqual(new Set([1, 2, 3, 4]))
    expect(new Set(nightly('analytics').map(({ hour }) => hour))).toEqual(new Set([5]))
    expect(new Set(nightly('audit').map(({ hour }) => hour))).toEqual(new Set([0]))
    expect(new Set(nightly('reconcile').map(({ tz }) => tz))).toEqual(new Set(['Asia/Tokyo']))
  })

  test('of a lake are at night after all of these, and that of the warehouse where the first project is', () => {
    const now = Date.UTC(2026, 5, 1, 12)
    const firedAt = (project: ProjectConfig | null, schedule: Schedule = { kind: 'nightly' }) =>
      lakeFiredAt({ project, schedule }, many, now)
    // From 6 to 7 in Tokyo.
    expect(firedAt(null)).toBe(firedAt(many[0]!))
    const hours = many.map((project) => new Date(firedAt(project)!).toISOString().slice(0, 13))
    expect(new Set(hours)).toEqual(new Set(['2026-05-31T21']))
    expect(firedAt(null, { kind: 'off' })).toBeNull()
    expect(now - firedAt(null, { kind: 'every', ms: 60_000 })!).toBeLessThan(60_000)
  })

  test('with cron patterns use the time zone of the project', () => {
    const schedules = {
      ...defaultSchedules,
      reconcile: { kind: 'cron', pattern: '30 2 * * 1' },
    } as const
    expect(
      schedulesForProjects([{ ...shop, schedules }]).find(({ id }) => id === 'reconcile/shop')
        ?.recurrence,
    ).toEqual({
      pattern: '30 2 * * 1',
      tz: 'Asia/Tokyo',
    })
  })
})

describe('overdue jobs are', () => {
  const now = Date.UTC(2026, 5, 1)
  const minute = 60_000
  const all = (agoMs: number): CompletionTimes =>
    new Map([[shop.projectId, new Map(streamNames.map((stream) => [stream, now - agoMs]))]])
  const found = (
    completions: CompletionTimes,
    pending: Parameters<typeof overdueSyncJobs>[2] = new Map(),
    project: ProjectConfig = shop,
  ) =>
    overdueSyncJobs([project], completions, pending, now).map(
      ({ queue, job }) => `${queue}: ${job.stream}`,
    )

  test('none, if every stream has just completed', () => {
    expect(found(all(minute))).toEqual([])
  })

  test('streams that have missed two schedule firings', () => {
    expect(found(all(3 * minute))).toEqual(['sync: availability'])
    expect(found(all(11 * minute))).toEqual([
      'sync: conversations',
      'sync: visitors',
      'sync: calls',
      'sync: availability',
    ])
  })

  test('those of a new project, except rollups: their first day is unknown before the lists are read', () => {
    const waiting = ['sync: conversations', 'sync: visitors', 'sync: calls', 'sync: availability']
    expect(found(new Map())).toEqual(waiting)
    const completed = (lists: readonly StreamName[]) =>
      new Map([[shop.projectId, new Map(lists.map((list) => [list, now] as const))]])
    expect(found(completed(['conversations', 'visitors']))).toEqual([
      'sync: calls',
      'sync: availability',
    ])
    expect(found(completed(['conversations', 'visitors', 'calls']))).toEqual([
      'sync: analytics',
      'sync: availability',
    ])
    expect(found(new Map(), new Map(), { ...shop, startDate: 0 })).toHaveLength(5)
    expect(found(new Map(), new Map(), { ...shop, streams: ['analytics'] })).toEqual([
      'sync: analytics',
    ])
  })

  test.each([
    ['0 8 * * mon', 13, 15],
    ['0 * * * *', 1 / 12, 1 / 8],
  ])('by the longest pause of a pattern: %s', (pattern, days, moreDays) => {
    const incremental = { kind: 'cron', pattern } as const
    const project = {
      ...shop,
      streams: ['calls'] as const,
      schedules: { ...defaultSchedules, incremental },
    }
    expect(found(all(days * 86_400_000), new Map(), project)).toEqual([])
    expect(found(all(moreDays * 86_400_000), new Map(), project)).toEqual(['sync: calls'])
  })

  test('pending children without a job, in the backfill queue', () => {
    const pending = new Map([[shop.projectId, new Map([['messages', 3] as const])]])
    expect(found(all(minute), pending)).toEqual(['backfill: messages'])
  })

  test('none that are off or not mirrored', () => {
    const off = { kind: 'off' } as const
    const none = { incremental: off, reconcile: off, analytics: off, availability: off, audit: off }
    const pending = new Map([
      [shop.projectId, new Map([['messages', 1] as const, ['visitor_activity', 2] as const])],
    ])
    expect(found(new Map(), pending, { ...shop, schedules: none })).toEqual([])
    expect(
      found(all(minute), pending, { ...shop, streams: ['conversations', 'messages'] }),
    ).toEqual(['backfill: messages'])
  })
})

describe('at the start of a worker whose queue forgets', () => {
  const at = (time: string) => Date.parse(`2026-03-${time}:00Z`)
  const schedules = {
    ...defaultSchedules,
    incremental: { kind: 'every', ms: 300_000 },
    reconcile: { kind: 'cron', pattern: '0 3 * * *' },
  } as const
  const project = {
    ...shop,
    timeZone: 'UTC',
    schedules,
    streams: ['conversations', 'messages'] as const,
  }
  const missed = (
    now: string,
    ran: Readonly<Record<string, string>>,
    { synced = now, firstAt = '01T09:00' } = {},
  ) => {
    const completions = new Map([
      [shop.projectId, new Map([['conversations' as const, at(synced)]])],
    ])
    const runs = new Map(Object.entries(ran).map(([key, time]) => [key, at(time)]))
    const known = new Map([
      [shop.projectId, { firstAt: at(firstAt), oldestIdleAt: null, ran: runs }],
    ])
    return missedSyncJobs([project], completions, known, at(now)).map(
      ({ job }) => `${job.stream} ${job.mode}`,
    )
  }
  const both = {
    'conversations/reconcile': '09T03:00',
    'messages/reconcile': '09T03:00',
    'conversations/audit': '10T00:30',
  }

  test('what its schedules should have started meanwhile is due', () => {
    expect(missed('10T08:00', both)).toEqual(['conversations reconcile', 'messages reconcile'])
    expect(missed('10T08:00', { ...both, 'messages/reconcile': '10T07:00' })).toEqual([
      'conversations reconcile',
    ])
    expect(missed('10T08:00', both, { synced: '10T07:52' })).toContain('conversations incremental')
  })

  test('nothing is due that ran at its time or later, or before the project was first synced', () => {
    expect(missed('10T02:00', { ...both, 'conversations/audit': '10T01:30' })).toEqual([])
    expect(missed('10T08:00', {}, { firstAt: '10T07:58' })).toEqual([])
  })
})

describe('a job', () => {
  const job = { project: 'shop', stream: 'messages', mode: 'incremental' } as const

  test('carries names and nothing else', () => {
    expect(parseJob('sync', job)).toEqual(job)
    expect(parseJob('schedules', { schedule: 'analytics', project: 'shop' })).toEqual({
      schedule: 'analytics',
      project: 'shop',
    })
    expect(parseJob('schedules', { schedule: 'housekeeping' })).toEqual({
      schedule: 'housekeeping',
    })
  })

  test.for([
    { ...job, apiKey: 'svc_live_x' },
    { ...job, stream: 'letters' },
    { ...job, mode: 'full' },
    { ...job, project: '' },
    { ...job, project: 7 },
    null,
    'messages',
  ])('with other data is rejected: %j', (data) => {
    expect(parseJob('sync', data)).toBeNull()
  })

  test('is the same as another one of its project, stream and mode', () => {
    expect(jobId('sync', job)).toBe(jobId('sync', { ...job }))
    const others = [
      { ...job, mode: 'reconcile' as const },
      { ...job, stream: 'calls' as const },
      { ...job, project: 'other' },
    ]
    expect(new Set([job, ...others].map((other) => jobId('sync', other))).size).toBe(4)
  })

  test('of a nightly schedule is retried for an hour; a frequent one fires again by itself', () => {
    const minute = 60_000
    const resultAfter = (
      schedule: 'incremental' | 'availability' | 'reconcile' | 'analytics',
      ms: number,
    ) => afterFailedFiring({ schedule, project: 'shop' }, 'unavailable', ms).do
    expect([resultAfter('incremental', minute), resultAfter('availability', minute)]).toEqual([
      'give up',
      'give up',
    ])
    expect([resultAfter('reconcile', minute), resultAfter('analytics', minute)]).toEqual([
      'delay',
      'delay',
    ])
    expect(resultAfter('reconcile', 61 * minute)).toBe('give up')
  })
})

describe('a changed configuration needs a restart', () => {
  const config: Config = configOf('sqlite:shop.db', shop)

  test('for what the process keeps open', () => {
    const next = {
      ...config,
      databaseUrl: 'sqlite:other.db',
      concurrency: 2,
      httpToken: secret('another'),
    }
    expect(settingsNeedingRestart(config, next)).toEqual([
      'database_url',
      'http_token',
      'concurrency',
    ])
  })

  test('not for projects, keys and schedules', () => {
    const other = { ...shop, apiKey: secret('svc_live_new'), streams: ['calls'] as const }
    expect(
      settingsNeedingRestart(config, { ...config, projects: [other, { ...shop, name: 'second' }] }),
    ).toEqual([])
  })
})
