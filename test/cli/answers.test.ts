/** The output of the commands, and their exit codes. */
import { describe, expect, test } from 'vitest'
import type { StreamName } from '../../schema/stream-specs.ts'
import type { CheckItem } from '../../src/app/check.ts'
import type { FactsRebuildReport } from '../../src/app/facts.ts'
import { command as checkCommand } from '../../src/cli/check.ts'
import { worstExitCode } from '../../src/cli/explain-error.ts'
import { command as migrateCommand, renderProgress } from '../../src/cli/migrate.ts'
import { command as statusCommand } from '../../src/cli/status.ts'
import { command as syncCommand } from '../../src/cli/sync.ts'
import { command as verifyCommand } from '../../src/cli/verify.ts'
import type { StatusReport } from '../../src/maintenance/sql/status-report.ts'
import { type AuditResult, estimateDifferences } from '../../src/mirror/core/audit.ts'
import type { SyncOutcome, SyncReport, VerifyReport } from '../../src/mirror/core/reports.ts'
import { ApiError } from '../../src/service/core/api-failure.ts'
import { createUserError, runCommand } from './run-command.ts'

function syncReport(project: string, outcome: SyncOutcome = 'complete'): SyncReport {
  const streams: SyncReport['streams'] = [
    {
      stream: 'conversations',
      requests: 62,
      rows: 12_340,
      changed: 37,
      tookMs: 2100,
      skipped: null,
      failed: null,
    },
    {
      stream: 'calls',
      requests: 1,
      rows: 0,
      changed: 0,
      tookMs: 40,
      skipped: 'calls:read',
      failed: null,
    },
  ]
  const gap = {
    stream: 'messages',
    from: null,
    to: null,
    reason: 'the service lists 50',
    foundAt: '2026-06-01T00:00:00Z',
  } as const
  const gaps = outcome === 'gaps' ? [gap] : []
  return {
    project,
    mode: 'incremental',
    outcome,
    tookMs: 95_000,
    requests: 63,
    rows: 12_340,
    changed: 37,
    streams,
    gaps,
    openGaps: gaps.length,
    notices: [],
  }
}

describe('the exit code over several projects', () => {
  test('what a person must change weighs most, then failures, then gaps', () => {
    expect([
      worstExitCode([0, 3, 1, 2]),
      worstExitCode([0, 3, 1]),
      worstExitCode([3, 0]),
      worstExitCode([0]),
      worstExitCode([]),
    ]).toEqual([2, 1, 3, 0, 0])
  })

  test('an error of one project does not stop the others', async () => {
    const { exit, out, err } = await runCommand(syncCommand, ['--json'], {
      syncProject: async (_, { name }) => {
        if (name === 'shop') throw createUserError(2)
        return syncReport(name)
      },
    })
    expect(exit).toBe(2)
    expect(JSON.parse(out)).toEqual({
      projects: [
        {
          project: 'shop',
          error: { what: 'it did not work', why: 'because', next: 'do this', exitCode: 2 },
        },
        syncReport('school'),
      ],
    })
    expect(err).toBe('deskmirror: shop: it did not work: because\n  → do this\n')
  })
})

describe('sync', () => {
  const exits: Record<SyncOutcome, number> = { complete: 0, gaps: 3, failed: 1, interrupted: 1 }
  test.each(Object.entries(exits))('%s ends with %i', async (outcome, exit) => {
    const syncProject = async () => syncReport('shop', outcome as SyncOutcome)
    expect(await runCommand(syncCommand, ['--project', 'shop'], { syncProject })).toMatchObject({
      exit,
    })
  })

  test('prints one line per stream, one for all, and one for each gap and skipped stream', async () => {
    const syncProject = async () => syncReport('shop', 'gaps')
    const { out } = await runCommand(syncCommand, ['--project', 'shop'], { syncProject })
    expect(out.split('\n')).toEqual([
      'conversations   62 requests   12,340 rows   37 changed   2.1 s',
      'calls            1 request         0 rows    0 changed   40 ms        skipped',
      'shop            63 requests   12,340 rows   37 changed   1 min 35 s   gaps',
      'skipped: calls: the key lacks the scope calls:read',
      'gap: messages: the service lists 50',
      '',
    ])
  })

  test('counts all gaps, of which it has the first thousand; what a note says is not repeated', async () => {
    const [gap] = syncReport('shop', 'gaps').gaps
    const gaps = Array.from({ length: 1000 }, (_, n) => ({ ...gap!, reason: `reason ${n}` }))
    const notices = ['reason 0']
    const syncProject = async () => ({ ...syncReport('shop'), gaps, openGaps: 1234, notices })
    const { out } = await runCommand(syncCommand, ['--project', 'shop'], { syncProject })
    expect(out.match(/^gap: /gm)).toHaveLength(20)
    expect(out).toContain('… and 1,213 gaps more: `deskmirror export sync_gaps` has all')
    expect(out.match(/reason 0$/gm)).toHaveLength(1)
  })

  test('a reason that many streams share is printed once', async () => {
    const down = syncReport('shop', 'failed')
    const why = (path: string) => `GET ${path}: 404 NOT_FOUND (request r-${path})`
    const streams = down.streams.map((stream) => ({
      ...stream,
      skipped: null,
      failed: why(`/public/${stream.stream}`),
    }))
    const { out } = await runCommand(syncCommand, ['--project', 'shop'], {
      syncProject: async () => ({ ...down, streams }),
    })
    expect(out).toMatch(
      /^failed: conversations, calls: 404 NOT_FOUND \(request r-\/public\/conversations\)$/m,
    )
  })

  test('passes its options on', async () => {
    const received: unknown[] = []
    await runCommand(
      syncCommand,
      ['--mode', 'full', '--streams', 'calls,messages', '--wait', '--project', 'school'],
      {
        syncProject: async (_, project, { mode, streams, wait }) => {
          received.push([project.name, mode, streams, wait])
          return syncReport(project.name)
        },
      },
    )
    expect(received).toEqual([['school', 'full', ['messages', 'calls'], true]])
  })

  test('after Ctrl-C no further project is started', async () => {
    const controller = new AbortController()
    const started: string[] = []
    const { exit } = await runCommand(
      syncCommand,
      [],
      {
        syncProject: async (_, { name }) => {
          started.push(name)
          controller.abort()
          return syncReport(name, 'interrupted')
        },
      },
      { signal: controller.signal },
    )
    expect([started, exit]).toEqual([['shop'], 1])
  })

  test('a request that the service refused is reported without a stack trace', async () => {
    const failure = {
      kind: 'denied',
      status: 401,
      code: 'api_key_invalid',
      scope: null,
      why: 'unknown key',
      requestId: 'r1',
    } as const
    const { exit, err } = await runCommand(syncCommand, ['--project', 'shop'], {
      syncProject: async () => {
        throw new ApiError(failure)
      },
    })
    expect(exit).toBe(2)
    expect(err).toMatch(/unknown key \(request r1\)\n {2}→/)
    expect(err).not.toMatch(/ at /)
  })

  test('a bug asks for a report, in one line', async () => {
    const { exit, err } = await runCommand(syncCommand, ['--project', 'shop'], {
      syncProject: async () => {
        throw new TypeError('x is not a function')
      },
    })
    expect([exit, err]).toEqual([
      1,
      'deskmirror: this is a bug in deskmirror: TypeError: x is not a function\n' +
        '  → please report this, with what DESKMIRROR_LOG_LEVEL=debug prints\n',
    ])
  })
})

describe('check', () => {
  const item = (state: CheckItem['state'], more: Partial<CheckItem> = {}): CheckItem => ({
    name: 'key',
    state,
    detail: 'was asked',
    hint: null,
    ...more,
  })
  test.each([
    ['all is well', [item('ok')], 0],
    ['streams are skipped', [item('ok'), item('warning', { name: 'calls:read' })], 3],
    ['something is worth knowing', [item('ok'), item('warning', { name: 'clock' })], 0],
    ['a person must change something', [item('warning'), item('error')], 2],
    ['trying again may help', [item('error', { retryable: true })], 1],
  ])('%s', async (_, items, exit) => {
    const result = await runCommand(checkCommand, ['--project', 'shop', '--json'], {
      checkProject: async () => items,
    })
    expect(result.exit).toBe(exit)
    expect(JSON.parse(result.out)).toEqual({ projects: [{ project: 'shop', items }] })
  })

  test('shows the hint below its line', async () => {
    const items = [item('error', { hint: 'make a new key' })]
    const { out } = await runCommand(checkCommand, ['--project', 'shop'], {
      checkProject: async () => items,
    })
    expect(out).toBe('✗ key   was asked\n        → make a new key\n')
  })
})

describe('verify', () => {
  const report: VerifyReport = {
    project: 'shop',
    streams: [{ stream: 'calls', compared: 1200, differing: 1, skipped: null }],
    differences: [{ stream: 'calls', key: 'c1', kind: 'different', fields: ['status', 'cost'] }],
    requests: 8,
    truncated: false,
  }
  test('a difference counts as a gap: it is printed, and the exit code is 3', async () => {
    const { exit, out } = await runCommand(verifyCommand, ['--project', 'shop'], {
      verifyProject: async () => report,
    })
    expect(exit).toBe(3)
    expect(out).toContain('calls   c1   different   status, cost')
  })
  test('a difference is followed by what to do, which for rollups is not the same as for rows', async () => {
    const nextSteps = async (...streams: readonly StreamName[]) => {
      const verified = {
        ...report,
        streams: streams.map((stream) => ({ ...report.streams[0]!, stream })),
      }
      const { out } = await runCommand(verifyCommand, ['--project', 'shop'], {
        verifyProject: async () => verified,
      })
      return out.split('\n').filter((line) => line.startsWith('→'))
    }
    const ofRows = expect.stringMatching(
      /changed since the last sync.*`deskmirror sync --project shop`.*verify again/,
    )
    const ofRollups = expect.stringMatching(
      /expected.*at night.*`deskmirror sync --mode full --streams analytics --project shop`/,
    )
    expect(await nextSteps('calls')).toEqual([ofRows])
    expect(await nextSteps('analytics')).toEqual([ofRollups])
    expect(await nextSteps('calls', 'analytics')).toEqual([ofRows, ofRollups])
  })
  test('without differences the exit code is 0', async () => {
    const equal = { ...report, streams: [], differences: [] }
    expect(await runCommand(verifyCommand, [], { verifyProject: async () => equal })).toMatchObject(
      { exit: 0 },
    )
  })
})

describe('migrate --rebuild-analytics', () => {
  const done: FactsRebuildReport = {
    project: 'shop',
    conversations: 52_500,
    tookMs: 16_000,
    outcome: 'complete',
  }
  test('says for how many conversations the facts were derived anew', async () => {
    const useCases = { rebuildFacts: async () => done }
    const args = ['--rebuild-analytics', '--project', 'shop']
    expect(await runCommand(migrateCommand, args, useCases)).toMatchObject({
      exit: 0,
      out: 'shop: derived the facts of 52,500 conversations in 16 s\n',
    })
    const { out } = await runCommand(migrateCommand, [...args, '--json'], useCases)
    expect(JSON.parse(out)).toEqual({ projects: [done] })
  })
  test('exits with 1 if it was stopped, as there is more to do', async () => {
    const stopped: FactsRebuildReport = { ...done, outcome: 'interrupted' }
    const { exit, out } = await runCommand(
      migrateCommand,
      ['--rebuild-analytics', '--project', 'shop'],
      {
        rebuildFacts: async () => stopped,
      },
    )
    expect([exit, out]).toEqual([1, expect.stringContaining('the next sync derives the rest')])
  })
  test('estimates how long it still takes', () => {
    expect(renderProgress(12_000, 40_500, 4200)).toBe(
      '12,000 conversations derived   40,500 left   about 14 s left',
    )
    expect(renderProgress(52_500, 0, 16_000)).toBe('52,500 conversations derived   0 left')
  })
})

test('migrate says what it applied, or that there was nothing to apply', async () => {
  const said = async (from: string | null, applied: readonly string[]) => {
    const migrateWarehouse = async () => ({ from, to: '0002_tags', applied })
    return (await runCommand(migrateCommand, [], { migrateWarehouse })).out
  }
  expect(await said('0002_tags', [])).toBe('the warehouse is at 0002_tags already\n')
  expect(await said('0001_tables', ['0002_tags'])).toBe(
    'applied 0002_tags\nthe warehouse went from 0001_tables to 0002_tags\n',
  )
})

const auditResult = (compared: number, differing: number): AuditResult => ({
  id: 'a',
  stream: 'conversations',
  startedAt: '2026-06-01T00:20:00Z',
  finishedAt: '2026-06-01T01:00:00Z',
  population: 1_203_442,
  drawn: compared,
  compared,
  differing,
  corrected: differing,
  gone: 1,
  unreadable: 0,
  requests: 1,
  tookMs: 1,
})

describe('status', () => {
  const now = Date.parse('2026-06-01T12:00:00Z')
  const report: StatusReport = {
    project: 'shop',
    notifications: [{ event: 'key_denied', announcedAt: '2026-06-01T11:58:00Z' }],
    streams: [
      {
        stream: 'messages',
        rows: 93_540,
        deleted: 2,
        countedAt: '2026-06-01T11:48:00Z',
        syncedAt: '2026-06-01T11:58:00Z',
        newest: '2026-06-01T11:57:31Z',
        ahead: 12,
        due: 14,
        skipped: null,
        failed: null,
        failedSince: null,
      },
    ],
    failures: [],
    lastRun: {
      id: 'r',
      mode: 'reconcile',
      startedAt: '2026-06-01T11:50:00Z',
      finishedAt: '2026-06-01T11:58:00Z',
      outcome: 'gaps',
      requests: 4210,
    },
    clockOffset: -12_000,
    running: { holder: 'host (process 12)', since: '2026-06-01T11:59:00Z' },
    gaps: [
      {
        stream: 'messages',
        from: null,
        to: null,
        reason: 'the list ends at 50',
        foundAt: '2026-06-01T11:58:00Z',
      },
    ],
    openGaps: 1,
    facts: { conversations: 1200, isRebuild: false },
    unfinishedErasures: ['v-1'],
    audits: estimateDifferences([auditResult(10_412, 2)], now),
    writebacks: { queued: 3 },
    withoutProject: 1,
    blockedLanes: 2,
    behaviours: [
      {
        name: 'calls.order',
        value: 'oldest',
        evidence: 'a page of \u001b[31m200',
        learnedAt: '2026-06-01T11:58:00Z',
      },
    ],
    budget: {
      usedInWindow: 120,
      limit: 600,
      windowMs: 60_000,
      forecastMs: 2000,
      pausedUntil: null,
      lost: null,
    },
    workers: [],
    paused: null,
    held: null,
    moved: null,
  }
  test('shows freshness, rows, gaps, open work and the budget, and exits with 0', async () => {
    const { exit, out } = await runCommand(
      statusCommand,
      ['--project', 'shop'],
      { readStatus: async () => report },
      { now },
    )
    expect(exit).toBe(0)
    for (const line of [
      'last run      reconcile, gaps, 2 min ago, 4,210 requests',
      'running       host (process 12), since 1 min ago',
      'budget        120 of 600 in the last 1 min; what is pending takes about 2 s',
      'facts         to be derived again for 1,200 conversations, with the next sync',
      'unfinished    an erasure; next: deskmirror erase --visitor v-1 --yes',
      'audit         with 95 % confidence fewer than 7 in 10,000 conversations differ; 2 of 10,412 read again in 1 audit differed; what differed was corrected as far as the service still shows it; 1,203,442 are mirrored; 1 had been deleted in the service; last 11 h ago',
      'notified      the key is denied, 2 min ago',
      'write-backs   3 queued',
      '              1 row has no project and is not sent until project_id is set in writebacks and writeback_events',
      '              2 lanes wait until you resolve an uncertain write-back: deskmirror writeback list --status uncertain --project shop',
      "clock         the service's is 3 h 20 min behind this machine's: no row is missed, but some are read again",
      'dated in the future, and read again until that time has come: 12 of messages',
      'messages   93,540         2        14   2026-06-01T11:57:31Z   2 min ago',
      'rows were counted: messages 12 min ago',
      'gap: messages: the list ends at 50',
      '1 behaviour of the service learned (--verbose shows the evidence)',
    ]) {
      expect(out).toContain(line)
    }
  })
  test('counts all gaps, of which it has the first thousand', async () => {
    const gaps = Array.from({ length: 1000 }, () => report.gaps[0]!)
    const outputOf = async (openGaps: number) => {
      const readStatus = async () => ({ ...report, gaps, openGaps })
      return (await runCommand(statusCommand, ['--project', 'shop'], { readStatus }, { now })).out
    }
    const all = '`deskmirror export sync_gaps` has all'
    expect(await outputOf(54_321)).toContain(`… and 54,301 gaps more: ${all}`)
    // A worker has closed the others between the two reads.
    expect(await outputOf(19)).not.toContain(all)
  })
  test('says how far the facts for analysts are derived anew, and nothing while they are up to date', async () => {
    const outputOf = async (facts: StatusReport['facts']) =>
      (
        await runCommand(
          statusCommand,
          ['--project', 'shop'],
          { readStatus: async () => ({ ...report, facts }) },
          { now },
        )
      ).out
    expect(await outputOf({ conversations: 40_500, isRebuild: true })).toContain(
      'facts         all are derived anew: 40,500 conversations left, with the next syncs',
    )
    expect(await outputOf({ conversations: 0, isRebuild: false })).not.toContain('facts')
  })
  test('shows the workers, a paused project, and that the record of the budget was lost last night', async () => {
    const degraded: StatusReport = {
      ...report,
      workers: ['host-1', 'host-2'].map((holder) => ({
        holder,
        queue: 'redis',
        since: '2026-06-01T11:00:00Z',
        heardAt: holder === 'host-1' ? '2026-06-01T11:59:40Z' : '2026-06-01T11:50:00Z',
      })),
      paused: { until: '2026-06-01T12:10:00Z', why: '401 api_key_invalid' },
      budget: { ...report.budget, lost: { at: '2026-06-01T09:00:00Z', why: 'its record is gone' } },
    }
    const { out } = await runCommand(
      statusCommand,
      ['--project', 'shop'],
      { readStatus: async () => degraded },
      { now },
    )
    for (const line of [
      'workers       host-1, queue redis, since 1 h ago\n',
      '              host-2, queue redis, since 1 h ago; it has not written to the warehouse for 10 min: its log says why\n',
      'paused        the service denies the key; next try in 10 min, or at once with a new key: 401 api_key_invalid',
      '              nothing was sent for a while, 3 h ago: its record is gone',
    ]) {
      expect(out).toContain(line)
    }
    // The budget is closed for longer than a window.
    const soon = { now: Date.parse('2026-06-01T09:00:30Z') }
    expect(
      (await runCommand(statusCommand, [], { readStatus: async () => degraded }, soon)).out,
    ).toContain('nothing is sent for the time being, since 30 s ago: its record is gone')
    const later = { now: now + 25 * 3_600_000 }
    expect(
      (await runCommand(statusCommand, [], { readStatus: async () => degraded }, later)).out,
    ).not.toContain('record')
  })
  test('says why a run has no end, once nothing runs any more', async () => {
    const lastRun = { ...report.lastRun!, finishedAt: null, outcome: null }
    const shown = async (over: Partial<StatusReport>) =>
      (
        await runCommand(
          statusCommand,
          [],
          { readStatus: async () => ({ ...report, lastRun, ...over }) },
          { now },
        )
      ).out
    expect(await shown({})).toContain('reconcile, not finished, started 10 min ago')
    expect(await shown({ running: null })).toContain(
      'reconcile, recorded no end: its process was killed, or could not write to the warehouse (a full disk), started',
    )
  })
  test('shows what fails in the workers, with its start and its reason', async () => {
    const since = '2026-06-01T11:48:00Z'
    const [messages] = report.streams
    const failing: StatusReport = {
      ...report,
      streams: [{ ...messages!, failed: 'its disk is full', failedSince: since }],
      failures: [
        {
          job: 'sync',
          subject: 'messages/incremental',
          since,
          lastAt: since,
          failures: 3,
          reason: 'its disk is full',
        },
        {
          job: 'writebacks',
          subject: 'visitor/1',
          since,
          lastAt: since,
          failures: 40,
          reason: 'x is not a function',
        },
      ],
    }
    const { out } = await runCommand(
      statusCommand,
      [],
      { readStatus: async () => failing },
      { now },
    )
    expect(out).toMatch(/^messages .* failing for 12 min$/m)
    expect(out).toContain('failed: messages: its disk is full\n')
    expect(out).toContain(
      'failing for 12 min: write-backs visitor/1 (40 times): x is not a function\n',
    )
  })
  test('names the version of the program, and that of its schema', async () => {
    const useCases = { readStatus: async () => report }
    const { out } = await runCommand(statusCommand, ['--project', 'shop'], useCases, { now })
    expect(out).toMatch(/\ndeskmirror 1\.2\.3 \(schema 0099_last\)\n$/)
    const json = await runCommand(statusCommand, ['--json'], useCases, { now })
    expect(JSON.parse(json.out).versions).toEqual({
      program: '1.2.3',
      schema: '0099_last',
      commit: null,
    })
  })
  test('reports that writing is switched off, as does check', async () => {
    const readOnly = { DESKMIRROR_READ_ONLY: '1' }
    const useCases = { readStatus: async () => report, checkProject: async () => [] }
    const status = await runCommand(statusCommand, [], useCases, { now, variables: readOnly })
    expect(status.out).toContain(
      'nothing is sent: writing is switched off (DESKMIRROR_READ_ONLY)\n',
    )
    const json = await runCommand(statusCommand, ['--json'], useCases, { now, variables: readOnly })
    expect(JSON.parse(json.out).projects[0].readOnly).toBe(true)
    const check = await runCommand(checkCommand, ['--project', 'shop'], useCases, {
      variables: readOnly,
    })
    expect(check).toMatchObject({
      exit: 0,
      out: expect.stringMatching(/^✓ writing {3}switched off/),
    })
  })
  test('a stream that was interrupted has not failed', async () => {
    const streams = report.streams.map((stream) => ({ ...stream, failed: 'stopped on request' }))
    const { out } = await runCommand(
      statusCommand,
      [],
      { readStatus: async () => ({ ...report, streams }) },
      { now },
    )
    expect(out).toMatch(/^messages .* unfinished$/m)
    expect(out).not.toContain('failed')
  })
  test('--verbose shows the evidence, without control characters', async () => {
    const result = await runCommand(
      statusCommand,
      ['--project', 'shop', '--verbose'],
      { readStatus: async () => report },
      { now },
    )
    expect(result.out).toContain('calls.order   oldest   a page of  [31m200 (2026-06-01T11:58:00Z)')
  })
})
