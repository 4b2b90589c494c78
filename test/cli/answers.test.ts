/** What the commands answer, and with which exit code. */
import { describe, expect, test } from 'vitest'
import { checkCommand } from '../../src/cli/check.ts'
import { worstExitCode } from '../../src/cli/exit-code.ts'
import { statusCommand } from '../../src/cli/status.ts'
import { syncCommand } from '../../src/cli/sync.ts'
import { verifyCommand } from '../../src/cli/verify.ts'
import { ApiError } from '../../src/core/api-failure.ts'
import type { SyncOutcome } from '../../src/core/mirror.ts'
import type { CheckItem, StatusReport, SyncReport, VerifyReport } from '../../src/core/report.ts'
import { createUserError, runCommand } from './run-command.ts'

function syncReport(project: string, outcome: SyncOutcome = 'complete'): SyncReport {
  const streams: SyncReport['streams'] = [
    { stream: 'conversations', requests: 62, rows: 12_340, changed: 37, tookMs: 2100, skipped: null, failed: null },
    { stream: 'calls', requests: 1, rows: 0, changed: 0, tookMs: 40, skipped: 'calls:read', failed: null },
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
    notices: [],
  }
}

describe('the verdict over several projects', () => {
  test('where a person is needed weighs most, then what failed, then gaps', () => {
    expect([
      worstExitCode([0, 3, 1, 2]),
      worstExitCode([0, 3, 1]),
      worstExitCode([3, 0]),
      worstExitCode([0]),
      worstExitCode([]),
    ]).toEqual([2, 1, 3, 0, 0])
  })

  test("one project's trouble is its own: the others go on", async () => {
    const { exit, out, err } = await runCommand(syncCommand, ['--json'], {
      syncProject: async (_, { name }) => {
        if (name === 'shop') throw createUserError(2)
        return syncReport(name)
      },
    })
    expect(exit).toBe(2)
    expect(JSON.parse(out)).toEqual({
      projects: [
        { project: 'shop', error: { what: 'it did not work', why: 'because', next: 'do this', exitCode: 2 } },
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
    expect(await runCommand(syncCommand, ['--project', 'shop'], { syncProject })).toMatchObject({ exit })
  })

  test('answers one line a stream, one for all, and one for each gap and skipped stream', async () => {
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

  test('a reason that many streams share is told once', async () => {
    const down = syncReport('shop', 'failed')
    const why = (path: string) => `GET ${path}: 404 NOT_FOUND (request r-${path})`
    const streams = down.streams.map((it) => ({ ...it, skipped: null, failed: why(`/public/${it.stream}`) }))
    const { out } = await runCommand(syncCommand, ['--project', 'shop'], {
      syncProject: async () => ({ ...down, streams }),
    })
    expect(out).toMatch(/^failed: conversations, calls: 404 NOT_FOUND \(request r-\/public\/conversations\)$/m)
  })

  test('hands on what was asked for', async () => {
    const asked: unknown[] = []
    await runCommand(syncCommand, ['--mode', 'full', '--streams', 'calls,messages', '--wait', '--project', 'school'], {
      syncProject: async (_, project, { mode, streams, wait }) => {
        asked.push([project.name, mode, streams, wait])
        return syncReport(project.name)
      },
    })
    expect(asked).toEqual([['school', 'full', ['messages', 'calls'], true]])
  })

  test('after Ctrl-C no further project is begun', async () => {
    const controller = new AbortController()
    const begun: string[] = []
    const { exit } = await runCommand(
      syncCommand,
      [],
      {
        syncProject: async (_, { name }) => {
          begun.push(name)
          controller.abort()
          return syncReport(name, 'interrupted')
        },
      },
      { signal: controller.signal },
    )
    expect([begun, exit]).toEqual([['shop'], 1])
  })

  test('a call that the service refused is told without a stack trace', async () => {
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

  test('a mistake in deskmirror asks to be reported, in one line', async () => {
    const { exit, err } = await runCommand(syncCommand, ['--project', 'shop'], {
      syncProject: async () => {
        throw new TypeError('x is not a function')
      },
    })
    expect([exit, err]).toEqual([
      1,
      'deskmirror: this is a mistake in deskmirror: TypeError: x is not a function\n' +
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
    ['streams will be left out', [item('ok'), item('warning', { name: 'calls:read' })], 3],
    ['something is worth knowing', [item('ok'), item('warning', { name: 'clock' })], 0],
    ['a person must change something', [item('warning'), item('error')], 2],
    ['trying again may help', [item('error', { retryable: true })], 1],
  ])('%s', async (_, items, exit) => {
    const said = await runCommand(checkCommand, ['--project', 'shop', '--json'], { checkProject: async () => items })
    expect(said.exit).toBe(exit)
    expect(JSON.parse(said.out)).toEqual({ projects: [{ project: 'shop', items }] })
  })

  test('shows the hint under the line that it belongs to', async () => {
    const items = [item('error', { hint: 'make a new key' })]
    const { out } = await runCommand(checkCommand, ['--project', 'shop'], { checkProject: async () => items })
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
  test('a difference is a gap: it is shown, and ends with 3', async () => {
    const { exit, out } = await runCommand(verifyCommand, ['--project', 'shop'], { verifyProject: async () => report })
    expect(exit).toBe(3)
    expect(out).toContain('calls   c1   different   status, cost')
  })
  test('none ends with 0', async () => {
    const equal = { ...report, streams: [], differences: [] }
    expect(await runCommand(verifyCommand, [], { verifyProject: async () => equal })).toMatchObject({ exit: 0 })
  })
})

describe('status', () => {
  const now = Date.parse('2026-06-01T12:00:00Z')
  const report: StatusReport = {
    project: 'shop',
    streams: [
      {
        stream: 'messages',
        rows: 93_540,
        deleted: 2,
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
      { stream: 'messages', from: null, to: null, reason: 'the list ends at 50', foundAt: '2026-06-01T11:58:00Z' },
    ],
    writebacks: { queued: 3 },
    nameless: 1,
    heldLanes: 2,
    behaviours: [
      { name: 'calls.order', value: 'oldest', evidence: 'a page of \u001b[31m200', learnedAt: '2026-06-01T11:58:00Z' },
    ],
    budget: { usedInWindow: 120, limit: 600, windowMs: 60_000, forecastMs: 2000, lost: null },
    workers: [],
    paused: null,
  }
  test('shows freshness, rows, gaps, open work and the budget, and ends with 0', async () => {
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
      'budget        120 of 600 in the last 1 min; what is due takes about 2.0 s',
      'write-backs   3 queued',
      '              1 row has no project and is not sent until project_id is set in writebacks and writeback_events',
      '              2 lanes wait until you resolve an uncertain write-back: deskmirror writeback list --status uncertain --project shop',
      "clock         the service's is 3 h 20 min behind this machine's: no row is missed, some are read again",
      'dated ahead of the clocks, and read again until their time has come: 12 of messages',
      'messages   93,540         2    14   2026-06-01T11:57:31Z   2 min ago',
      'gap: messages: the list ends at 50',
      '1 behaviour of the service learned (--verbose shows the evidence)',
    ]) {
      expect(out).toContain(line)
    }
  })
  test('shows who works, a project that rests, and that the record of the budget was lost last night', async () => {
    const troubled: StatusReport = {
      ...report,
      workers: ['desk-1', 'desk-2'].map((holder) => ({
        holder,
        queue: 'redis',
        since: '2026-06-01T11:00:00Z',
        heardAt: holder === 'desk-1' ? '2026-06-01T11:59:40Z' : '2026-06-01T11:50:00Z',
      })),
      paused: { until: '2026-06-01T12:10:00Z', why: '401 api_key_invalid' },
      budget: { ...report.budget, lost: { at: '2026-06-01T09:00:00Z', why: 'its record is gone' } },
    }
    const { out } = await runCommand(
      statusCommand,
      ['--project', 'shop'],
      { readStatus: async () => troubled },
      { now },
    )
    for (const line of [
      'workers       desk-1, queue redis, since 1 h ago\n',
      '              desk-2, queue redis, since 1 h ago; it has not written to the warehouse for 10 min: its log says why\n',
      'paused        the service denies the key; tried again in 10 min, or at once with another key: 401 api_key_invalid',
      '              nothing was sent for a while, 3 h ago: its record is gone',
    ]) {
      expect(out).toContain(line)
    }
    const later = { now: now + 25 * 3_600_000 }
    expect((await runCommand(statusCommand, [], { readStatus: async () => troubled }, later)).out).not.toContain(
      'record',
    )
  })
  test('shows what fails in the workers, since when and why', async () => {
    const since = '2026-06-01T11:48:00Z'
    const [messages] = report.streams
    const failing: StatusReport = {
      ...report,
      streams: [{ ...messages!, failed: 'its disk is full', failedSince: since }],
      failures: [
        { job: 'pass', subject: 'messages/incremental', since, lastAt: since, failures: 3, reason: 'its disk is full' },
        { job: 'writebacks', subject: 'visitor/1', since, lastAt: since, failures: 40, reason: 'x is not a function' },
      ],
    }
    const { out } = await runCommand(statusCommand, [], { readStatus: async () => failing }, { now })
    expect(out).toMatch(/^messages .* failing for 12 min$/m)
    expect(out).toContain('failed: messages: its disk is full\n')
    expect(out).toContain('failing for 12 min: write-backs visitor/1 (40 times): x is not a function\n')
  })
  test('says in a line that writing is switched off, and so does check', async () => {
    const readOnly = { DESKMIRROR_READ_ONLY: '1' }
    const work = { statusOf: async () => report, checkProject: async () => [] }
    const status = await runCommand(statusCommand, [], work, { now, variables: readOnly })
    expect(status.out).toContain('nothing is sent: writing is switched off (DESKMIRROR_READ_ONLY)\n')
    const json = await runCommand(statusCommand, ['--json'], work, { now, variables: readOnly })
    expect(JSON.parse(json.out).projects[0].readOnly).toBe(true)
    const check = await runCommand(checkCommand, ['--project', 'shop'], work, { variables: readOnly })
    expect(check).toMatchObject({ exit: 0, out: expect.stringMatching(/^✓ writing {3}switched off/) })
  })
  test('a stream that somebody stopped has not failed', async () => {
    const streams = report.streams.map((it) => ({ ...it, failed: 'stopped on request' }))
    const { out } = await runCommand(statusCommand, [], { readStatus: async () => ({ ...report, streams }) }, { now })
    expect(out).toMatch(/^messages .* stopped$/m)
    expect(out).not.toContain('failed')
  })
  test('--verbose shows why, without what could move a terminal', async () => {
    const said = await runCommand(
      statusCommand,
      ['--project', 'shop', '--verbose'],
      { readStatus: async () => report },
      { now },
    )
    expect(said.out).toContain('calls.order   oldest   a page of  [31m200 (2026-06-01T11:58:00Z)')
  })
})
