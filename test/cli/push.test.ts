/** `deskmirror push`: sends what is queued, and prints the outcomes. */
import { describe, expect, test } from 'vitest'
import { pushCommand, renderProgress } from '../../src/cli/push.ts'
import type { PushReport } from '../../src/core/command-reports.ts'
import { createUserError, runCommand } from './run-command.ts'
import { type CliScenario, startCliScenario } from './scenario.ts'

const done: PushReport = {
  project: 'shop',
  settled: { succeeded: 1204 },
  queue: { succeeded: 1300 },
  tookMs: 632_000,
  requests: 2500,
  outcome: 'done',
  notices: [],
  heldLanes: 0,
}
const runPush = (report: Partial<PushReport>) =>
  runCommand(pushCommand, ['--project', 'shop'], { pushProject: async () => ({ ...done, ...report }) })

describe('the output of a push', () => {
  test('one line if everything succeeded', async () => {
    expect(await runPush({})).toEqual({
      exit: 0,
      out: 'shop   1,204 settled: 1,204 succeeded   2,500 requests   10 min 32 s   done\n',
      err: '',
    })
  })

  test('what did not arrive, what is left and why, and what to do about each', async () => {
    const { exit, out } = await runPush({
      settled: { succeeded: 9, conflict: 2, failed: 1 },
      queue: { succeeded: 9, conflict: 2, failed: 1, queued: 4, draft: 3, uncertain: 2 },
      outcome: 'held',
      notices: ['message, handled stay queued: the key lacks conversations:write'],
      heldLanes: 2,
    })
    expect([exit, ...out.split('\n')]).toEqual([
      3,
      'shop   12 settled: 9 succeeded, 1 failed, 2 conflict   2,500 requests   10 min 32 s   held',
      'why not: deskmirror writeback list --status failed,conflict --project shop',
      'left: 4 queued, 3 draft',
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
    ['the circuit breaker, or a missing scope', { outcome: 'held' }, 3],
    ['a blocked lane', { heldLanes: 1 }, 3],
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
      [expect.objectContaining({ project: 'shop', error: expect.anything() }), { ...done, project: 'school' }],
    ])
  })
})

test('the progress shows what is left, and how long it takes at 114 of 120 writes a minute', () => {
  const rate = { requests: 600, windowMs: 60_000 }
  const policy = { rate, writeRate: { requests: 120, windowMs: 60_000 }, reserve: 0 }
  const progress = { settled: 57, left: 1140, working: 6 }
  expect(renderProgress(policy, progress, 30_000, null)).toBe(
    '57 settled   1,140 left   114 a minute   about 10 min left',
  )
  const view = { limit: 600, windowMs: 60_000, slots: 570, inUse: 200, closedForMs: null, throttled: 1 }
  expect(renderProgress(policy, progress, 1000, { ...view, pausedForMs: 60_000 })).toBe(
    '57 settled   1,140 left   about 11 min left   the service asked for a pause: 1 min',
  )
})

function enqueue({ warehouse }: CliScenario, ...conversations: readonly string[]) {
  const values = conversations.map((id) => `('handled', '${id}', '{"handled":true}')`)
  return warehouse.query(`insert into writebacks (operation, conversation_id, payload) values ${values.join(', ')}`)
}

describe.concurrent('against a service', () => {
  test('write-backs inserted by plain SQL are sent once; a second push has nothing to do', async ({
    onTestFinished,
  }) => {
    const scenario = await startCliScenario(onTestFinished)
    await enqueue(scenario, scenario.conversation(0), scenario.conversation(1))
    const first = await scenario.ask('push')
    expect(first).toMatchObject({ exit: 0, document: { projects: [{ outcome: 'done', settled: { succeeded: 2 } }] } })
    expect(scenario.service.ledger()).toHaveLength(2)
    const second = await scenario.run(['push', '--quiet'])
    expect(second).toMatchObject({
      exit: 0,
      err: '',
      out: expect.stringMatching(/^default {3}0 settled {3}0 requests/),
    })
  })

  test('with writing switched off it ends with 2 before anything is claimed', async ({ onTestFinished }) => {
    const scenario = await startCliScenario(onTestFinished)
    await enqueue(scenario, scenario.conversation(0))
    const { exit, out, err } = await scenario.run(['push', '--quiet'], { env: { DESKMIRROR_READ_ONLY: '1' } })
    expect([exit, out, err]).toEqual([2, '', expect.stringMatching(/switched off \(DESKMIRROR_READ_ONLY\)\n {2}→ /)])
    expect(await scenario.warehouse.query('select status, epoch, project_id from writebacks')).toEqual([
      { status: 'queued', epoch: 0, project_id: '' },
    ])
  })

  test('a denied key ends with 2, a missing scope with 3, and write-backs stay queued', async ({ onTestFinished }) => {
    const scenario = await startCliScenario(onTestFinished)
    scenario.service.addKey({ key: 'svc_live_reader', scopes: ['conversations:read', 'visitors:read'] })
    await enqueue(scenario, scenario.conversation(0))
    const denied = await scenario.run(['push', '--quiet'], { env: { DESKMIRROR_API_KEY: 'svc_live_unknown' } })
    expect(denied).toMatchObject({ exit: 2, out: '', err: expect.stringContaining('denies the key') })
    const held = await scenario.run(['push', '--quiet'], { env: { DESKMIRROR_API_KEY: 'svc_live_reader' } })
    expect(held).toMatchObject({ exit: 3, out: expect.stringMatching(/^left: 1 queued\nnote: .*conversations:write/m) })
    expect(await scenario.warehouse.query('select status from writebacks')).toEqual([{ status: 'queued' }])
    expect((await scenario.run(['push', '--quiet'])).exit).toBe(0)
  })
})
