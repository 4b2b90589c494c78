/** `deskmirror push`: sends what is queued, and prints the outcomes. */
import { describe, expect, test } from 'vitest'
import { command as pushCommand, renderProgress } from '../../src/cli/push.ts'
import type { PushReport } from '../../src/outbox/send/push.ts'
import { toPushProgress } from '../../src/outbox/send/push.ts'
import { steadyLimits } from '../../src/service/core/budget.ts'
import { usualPolicy } from '../support/budget-policy.ts'
import { createUserError, runCommand } from './run-command.ts'
import { type CliScenario, startCliScenario } from './scenario.ts'

const done: PushReport = {
  project: 'shop',
  settled: { succeeded: 1204 },
  contradicted: 0,
  queue: { succeeded: 1300 },
  tookMs: 632_000,
  requests: 2500,
  outcome: 'done',
  notices: [],
  blockedLanes: 0,
  stopped: [],
  reasons: [],
}
const runPush = (report: Partial<PushReport>) =>
  runCommand(pushCommand, ['--project', 'shop'], {
    pushProject: async () => ({ ...done, ...report }),
  })

describe('the output of a push', () => {
  test('one line if everything succeeded', async () => {
    expect(await runPush({})).toEqual({
      exit: 0,
      out: 'shop   1,204 settled: 1,204 succeeded   2,500 requests   10 min 32 s   done\n',
      err: '',
    })
  })

  test('says how to go on with a stopped batch, and that other drafts wait for approval', async () => {
    const stopped = [{ batch: 'replies', drafts: 48 }]
    const { out } = await runPush({ queue: { draft: 48 }, stopped })
    expect(out.split('\n').slice(1)).toEqual([
      'left: 48 drafts',
      expect.stringMatching(/^replies is stopped: .*writeback resume --batch replies.* goes on$/),
      '',
    ])
    expect((await runPush({ queue: { draft: 50 }, stopped })).out).toContain(
      'drafts wait for approval',
    )
  })

  test('what did not arrive, what is left and why, and what to do about each', async () => {
    const { exit, out } = await runPush({
      settled: { succeeded: 9, conflict: 2, failed: 1 },
      reasons: [
        {
          status: 'conflict',
          reason: 'a visitor wrote at …',
          count: 2,
          example: '0199a3f2-51c4-7aaa-8bbb-0123456789ab',
        },
        {
          status: 'failed',
          reason: 'the service answered 404',
          count: 1,
          example: '0199a3f2-51c4-7aaa-8bbb-0123456789cd',
        },
      ],
      queue: { succeeded: 9, conflict: 2, failed: 1, queued: 4, draft: 3, uncertain: 2 },
      outcome: 'blocked',
      notices: ['message, handled stay queued: the key lacks conversations:write'],
      blockedLanes: 2,
    })
    expect([exit, ...out.split('\n')]).toEqual([
      3,
      'shop   12 settled: 9 succeeded, 1 failed, 2 conflicts   2,500 requests   10 min 32 s   blocked',
      'conflict   2   a visitor wrote at …       for example: deskmirror writeback show 456789ab --project shop',
      'failed     1   the service answered 404   for example: deskmirror writeback show 456789cd --project shop',
      'to export what did not succeed: deskmirror writeback list --status failed,conflict --csv --project shop',
      'left: 4 queued, 3 drafts',
      'drafts wait for approval: deskmirror writeback approve --all --project shop, or --batch NAME',
      'note: message, handled stay queued: the key lacks conversations:write',
      '2 lanes wait until you resolve an uncertain write-back: deskmirror writeback list --status uncertain --project shop',
      '',
    ])
  })

  test.each<[string, Partial<PushReport>, number]>([
    ['nothing to do', { settled: {} }, 0],
    ['a refused one', { settled: { failed: 1 } }, 3],
    ['a conflict', { settled: { conflict: 1 } }, 3],
    ['an uncertain one', { settled: { uncertain: 1 } }, 3],
    ['an expired one', { settled: { expired: 1 } }, 3],
    ['the circuit breaker, or a missing scope', { outcome: 'blocked' }, 3],
    ['a blocked lane', { blockedLanes: 1 }, 3],
    ['Ctrl-C', { outcome: 'interrupted', settled: { failed: 1 } }, 1],
  ])('%s', async (_, report, exit) => {
    expect((await runPush(report)).exit).toBe(exit)
  })

  test('a denied key of one project does not stop the others', async () => {
    const { exit, out } = await runCommand(pushCommand, ['--json', '--despite-failures'], {
      pushProject: async (_, { name }, { despiteFailures }) => {
        expect(despiteFailures).toBe(true)
        if (name === 'shop') throw createUserError(2)
        return { ...done, project: name }
      },
    })
    expect([exit, JSON.parse(out).projects]).toEqual([
      2,
      [
        expect.objectContaining({ project: 'shop', error: expect.anything() }),
        { ...done, project: 'school' },
      ],
    ])
  })
})

describe('the progress', () => {
  const now = Date.parse('2026-06-01T12:00:00Z')
  const limits = steadyLimits(usualPolicy)
  const failed = {
    status: 'failed',
    reason: 'the service answered 404',
    count: 2,
    example: 'x',
  } as const
  const outcomes = {
    settled: 57,
    contradicted: 0,
    counts: { succeeded: 55, failed: 2 },
    operations: { handled: 50, note: 7 },
    reasons: [failed],
    working: 6,
    rest: null,
  }

  const none = { ...outcomes, operations: {} }

  test('shows outcomes by reason, what is left, and how long it takes with the reads before each send', () => {
    const progress = toPushProgress(limits, { handled: 550, note: 677 }, outcomes, now)
    expect([progress.left, progress.takesMs]).toEqual([1170, 600_000])
    expect(renderProgress(progress, { tookMs: 30_000, now }, null)).toBe(
      '55 succeeded, 2 failed   the service answered 404 (2)   1,170 left   114 a minute   about 10 min left',
    )
    const slow = steadyLimits({ ...usualPolicy, rate: { requests: 200, windowMs: 60_000 } })
    const [notes, flags] = [
      toPushProgress(slow, { note: 100 }, none, now),
      toPushProgress(slow, { handled: 100 }, none, now),
    ]
    expect(flags.takesMs).toBeGreaterThan(2 * notes.takesMs)
  })

  test('makes no forecast while only answers are awaited', () => {
    const last = { ...none, working: 6 }
    const line = (left: number) =>
      renderProgress(toPushProgress(limits, { note: left }, last, now), { tookMs: 0, now }, null)
    expect(line(6)).toMatch(/ 6 left$/)
    expect(line(7)).toMatch(/ 7 left {3}about /)
  })

  test('shows until when it rests and why, and a pause of the service', () => {
    const rest = { until: now + 90_000, why: 'no response came' }
    const progress = toPushProgress(
      limits,
      { note: 58 },
      { ...outcomes, operations: { note: 57 }, rest, working: 0 },
      now,
    )
    expect(renderProgress(progress, { tookMs: 1000, now }, null)).toBe(
      '55 succeeded, 2 failed   the service answered 404 (2)   1 left   about 1 min 31 s left   rests until 2026-06-01T12:01:30Z (1 min 30 s): no response came',
    )
    const view = {
      limit: 600,
      windowMs: 60_000,
      slots: 570,
      inUse: 200,
      closedForMs: null,
      throttled: 1,
    }
    expect(
      renderProgress(progress, { tookMs: 1000, now }, { ...view, pausedForMs: 60_000 }),
    ).toMatch(/ about 2 min 31 s left {3}.* {3}the service asked for a pause: 1 min$/)
  })
})

function enqueue({ warehouse }: CliScenario, ...conversations: readonly string[]) {
  const values = conversations.map((id) => `('handled', '${id}', '{"handled":true}')`)
  return warehouse.query(
    `insert into writebacks (operation, conversation_id, payload) values ${values.join(', ')}`,
  )
}

describe.concurrent('against a service', () => {
  test('write-backs inserted by plain SQL are sent once; a second push has nothing to do', async ({
    onTestFinished,
  }) => {
    const scenario = await startCliScenario(onTestFinished)
    await enqueue(scenario, scenario.conversation(0), scenario.conversation(1))
    const first = await scenario.ask('push')
    expect(first).toMatchObject({
      exit: 0,
      document: { projects: [{ outcome: 'done', settled: { succeeded: 2 } }] },
    })
    expect(scenario.service.ledger()).toHaveLength(2)
    const second = await scenario.run(['push', '--quiet'])
    expect(second).toMatchObject({
      exit: 0,
      err: '',
      out: expect.stringMatching(/^default {3}0 settled {3}0 requests/),
    })
  })

  test('with writing switched off it ends with 2 before anything is claimed', async ({
    onTestFinished,
  }) => {
    const scenario = await startCliScenario(onTestFinished)
    await enqueue(scenario, scenario.conversation(0))
    const { exit, out, err } = await scenario.run(['push', '--quiet'], {
      env: { DESKMIRROR_READ_ONLY: '1' },
    })
    expect([exit, out, err]).toEqual([
      2,
      '',
      expect.stringMatching(/switched off \(DESKMIRROR_READ_ONLY\)\n {2}→ /),
    ])
    expect(
      await scenario.warehouse.query('select status, fencing_token, project_id from writebacks'),
    ).toEqual([{ status: 'queued', fencing_token: 0, project_id: '' }])
  })

  test('a denied key ends with 2, a missing scope with 3, and write-backs stay queued', async ({
    onTestFinished,
  }) => {
    const scenario = await startCliScenario(onTestFinished)
    scenario.service.addKey({
      key: 'svc_live_reader',
      scopes: ['conversations:read', 'visitors:read'],
    })
    await enqueue(scenario, scenario.conversation(0))
    const denied = await scenario.run(['push', '--quiet'], {
      env: { DESKMIRROR_API_KEY: 'svc_live_unknown' },
    })
    expect(denied).toMatchObject({
      exit: 2,
      out: '',
      err: expect.stringContaining('denies the key'),
    })
    const held = await scenario.run(['push', '--quiet'], {
      env: { DESKMIRROR_API_KEY: 'svc_live_reader' },
    })
    expect(held).toMatchObject({
      exit: 3,
      out: expect.stringMatching(/^left: 1 queued\nnote: .*conversations:write/m),
    })
    expect(await scenario.warehouse.query('select status from writebacks')).toEqual([
      { status: 'queued' },
    ])
    expect((await scenario.run(['push', '--quiet'])).exit).toBe(0)
  })
})
