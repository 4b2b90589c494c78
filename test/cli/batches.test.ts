/** Batches on the command line, with a real queue in SQLite. */

import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import * as batches from '../../src/app/batches.ts'
import type { Warehouse } from '../../src/app/open.ts'
import * as outbox from '../../src/app/outbox.ts'
import * as review from '../../src/app/review.ts'
import * as selection from '../../src/app/review.ts'
import { command as writebackCommand } from '../../src/cli/writeback.ts'
import type { EnqueueOptions } from '../../src/outbox/sql/enqueue.ts'
import type { Outbox } from '../../src/outbox/sql/outbox.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { queueFlags } from '../outbox/batch-fixture.ts'
import { databases } from '../support/databases.ts'
import { runCommand } from './run-command.ts'

const useCases = { ...batches, ...outbox, ...review, ...selection }

let warehouse: Warehouse
let admin: Outbox
let url: string

beforeEach(async () => {
  const place = await databases[0]!.make()
  onTestFinished(() => place.drop())
  url = place.url!
  warehouse = await place.open()
  admin = createOutbox(warehouse.projectDb('p'))
})

/** `variables`: without the prefix. */
function run(line: string, variables: Readonly<Record<string, string>> = {}) {
  const named = Object.entries(variables).map(([name, value]) => [`DESKMIRROR_${name}`, value])
  const all = { DESKMIRROR_DATABASE_URL: url, ...Object.fromEntries(named) }
  const options = { variables: all, now: Date.parse('2030-01-01T00:00:00Z') }
  return runCommand(writebackCommand, [...line.split(' '), '--project', 'shop'], useCases, options)
}

const drafts = (rows: number, options: Partial<EnqueueOptions> = {}) =>
  queueFlags(admin, rows, { status: 'draft', ...options })

describe('batches', () => {
  test('are listed with who, when, rows, a bar of their states and how long they take', async () => {
    await queueFlags(admin, 3, { batchId: 'old', createdBy: 'bea' })
    await admin.decide('cancelled', { batch: 'old' }, { by: 'bea' })
    await warehouse.query(
      `update writebacks set finished_at = '2029-12-31T23:00:00Z', created_at = '2029-12-31T22:00:00Z'`,
    )
    await warehouse.query(`update writeback_batches set created_at = '2029-12-31T22:00:00Z'`)
    await drafts(2, { batchId: 'new' })
    await warehouse.query(
      `update writeback_batches set created_at = '2029-12-31T23:59:00Z', title = 'Spring' where id = 'new'`,
    )
    const { out, exit } = await run('batches')
    expect(exit).toBe(0)
    expect(out.split('\n').map((line) => line.replace(/ {2,}/g, ' | '))).toEqual([
      'batch | queued | by | rows | state | of which | done | title',
      'new | 1 min ago | ann | 2 | draft | [ | ] | 2 drafts | takes about 1 s | Spring',
      'old | 2 h ago | bea | 3 | done | [××××××××××] | 3 cancelled | 1 h ago',
      '',
    ])
    for (const [status, when] of [
      ['queued', 'no worker is running'],
      ['sending', 'sent, and not answered yet'],
    ]) {
      await warehouse.query(`update writebacks set status = '${status}' where batch_id = 'new'`)
      expect((await run('batches --limit 1')).out).toContain(when)
    }
    expect((await run('batches --limit 1')).out).toContain(
      'older ones: deskmirror writeback batches --before new',
    )
  })

  test('that do not exist are an error with what is near them', async () => {
    await drafts(1, { batchId: 'replies-0123456789ab' })
    const commands = [
      'stop --batch',
      'resume --batch',
      'revert --batch',
      'cancel --batch',
      'list --batch',
      'batches show',
    ]
    for (const command of commands) {
      const { exit, err } = await run(`${command} replys`)
      expect([exit, err]).toEqual([2, expect.stringContaining('write replies-0123456789ab')])
    }
    expect(await run('list --batch repl')).toMatchObject({
      exit: 0,
      out: expect.stringContaining('1 draft'),
    })
  })
})

describe('an approval', () => {
  test('by the digest that was shown says until when it can be taken back, and undo takes it back', async () => {
    await drafts(2)
    const shown = JSON.parse((await run('batches show flags --json')).out)
    const approved = await run(
      `approve --batch flags --digest ${shown.approval.digest.slice(0, 16)} --as Bea`,
    )
    expect(approved.exit).toBe(0)
    expect(approved.out).toMatch(
      /^2 queued\nnothing leaves before \S+Z; until then deskmirror writeback undo .*--project shop/,
    )
    expect((await run('undo --as Carl')).out).toMatch(
      /^0 back to draft\nnothing that you approved is still in its grace\nto take back what others approved: .*undo --all/,
    )
    expect((await run('undo', { PERSON: 'Bea' })).out).toBe('2 back to draft\n')
    expect(await admin.list({}, 1)).toMatchObject([{ status: 'draft', decidedBy: 'Bea' }])
  })

  test('by a digest of something else changes nothing, and names what is there now', async () => {
    await drafts(2)
    const { exit, out } = await run('approve --batch flags --digest 0123456789ab')
    expect(exit).toBe(2)
    expect(out).toMatch(
      /^nothing was approved.*\nnow: 2 drafts, digest [0-9a-f]{16}\nthe latest steps:/,
    )
    expect(await admin.countByStatus({})).toEqual({ draft: 2 })
  })

  test('of one’s own can be forbidden', async () => {
    await drafts(2, { createdBy: 'ada' })
    const refused = await run('approve --batch flags', { APPROVE_OWN: 'off' })
    expect(refused).toMatchObject({
      exit: 3,
      out: expect.stringContaining('2 stay draft: someone else has to approve what you queued'),
    })
    expect(await run('approve --batch flags --as bea', { APPROVE_OWN: 'off' })).toMatchObject({
      exit: 0,
    })
  })

  test('may be of one operation, and of what the review expects', async () => {
    await drafts(2)
    expect((await run('approve --batch flags --operation message')).out).toMatch(/^0 queued/)
    // The mirror has none of these conversations.
    expect((await run('approve --batch flags --outcome would_change')).out).toMatch(/^0 queued/)
    expect((await run('approve --batch flags --outcome not_known')).out).toMatch(/^2 queued/)
    expect((await run('approve --all --outcome not_known')).exit).toBe(2)
  })
})

test('all sending is stopped and goes on, by one command each', async () => {
  await queueFlags(admin, 1)
  expect(await run('stop --all --as Bea')).toMatchObject({
    exit: 0,
    out: expect.stringMatching(
      /^shop: stop all sending\nNothing of any batch leaves[^\n]*\nnext: .*resume --all/,
    ),
  })
  expect(await run('stop --all')).toMatchObject({
    exit: 2,
    err: expect.stringContaining('stopped already'),
  })
  expect(await admin.findClaimable(Date.now(), 9)).toEqual([])
  expect(await run('resume --all')).toMatchObject({
    exit: 0,
    out: expect.stringContaining('go on sending'),
  })
  expect(await admin.findClaimable(Date.now(), 9)).toHaveLength(1)
  expect(await run('resume --despite-failures')).toMatchObject({
    exit: 2,
    err: expect.stringContaining('no circuit breaker of shop is open'),
  })
  expect(await run('stop')).toMatchObject({
    exit: 2,
    err: expect.stringContaining('either --batch or --all'),
  })
})

describe('a stop', () => {
  test('puts back what has not left, and resume goes on', async () => {
    await queueFlags(admin, 2)
    const stopped = await run('stop --batch flags --as Bea')
    expect(stopped).toMatchObject({
      exit: 0,
      out: expect.stringMatching(
        /^flags is stopped: 2 back to draft\nnext: .*resume --batch flags/,
      ),
    })
    expect(await run('stop --batch flags')).toMatchObject({
      exit: 2,
      err: expect.stringContaining('was stopped by Bea'),
    })
    expect(await run('resume --batch flags')).toMatchObject({
      exit: 0,
      out: expect.stringMatching(/^flags goes on: 2 queued/),
    })
    expect(await run('resume --batch flags')).toMatchObject({
      exit: 2,
      err: expect.stringContaining('is not stopped'),
    })
  })

  test('of what waits for approval says how to give it up', async () => {
    await drafts(1)
    expect(await run('stop --batch flags')).toMatchObject({
      exit: 2,
      err: expect.stringContaining('writeback cancel --batch flags'),
    })
  })
})

describe('a revert', () => {
  test('queues the inverse as drafts, and lists what cannot be taken back', async () => {
    const [first, second] = await queueFlags(admin, 2)
    await warehouse.query(
      `update writebacks set status = 'succeeded', sent_at = '2029-12-31T23:00:00Z'`,
    )
    await warehouse.query(
      `update writebacks set evidence = '{"before":{"handledAt":null}}' where id = '${first}'`,
    )
    const { exit, out } = await run('revert --batch flags')
    expect(exit).toBe(3)
    expect(out).toMatch(/^1 draft in flags-revert take/)
    expect(out).toContain(`1 not known:\n  ${second!.slice(-8)}`)
    expect(await admin.list({ batch: 'flags-revert' }, 9)).toMatchObject([
      { status: 'draft', payload: { handled: false } },
    ])
    expect(await admin.findBatch('flags-revert')).toMatchObject({
      reverts: 'flags',
      createdBy: 'ada',
    })
    expect(await run('revert --batch flags')).toMatchObject({
      exit: 2,
      err: expect.stringContaining('is taken back by flags-revert'),
    })
    await run('cancel --batch flags-revert')
    expect(await run('revert --batch flags')).toMatchObject({
      exit: 3,
      out: expect.stringContaining('flags-revert-2'),
    })
  })

  test('waits until nothing of the batch can be sent any more', async () => {
    await queueFlags(admin, 1)
    expect(await run('revert --batch flags')).toMatchObject({
      exit: 2,
      err: expect.stringContaining('writeback stop --batch flags'),
    })
  })
})

test('a batch whose name SQL has given control characters prints none of them', async () => {
  const name = 'a\u001b]0;b\u0007\u009b31m\u202ec'
  const inName = (...args: readonly string[]) => {
    const options = { variables: { DESKMIRROR_DATABASE_URL: url } }
    return runCommand(
      writebackCommand,
      [...args, '--batch', name, '--project', 'shop'],
      useCases,
      options,
    )
  }
  await drafts(1, { batchId: name })
  await drafts(1, { batchId: 'other' })
  const printed = [await inName('stop'), await inName('approve')]
  for (const args of [
    ['stop'],
    ['stop'],
    ['approve'],
    ['resume'],
    ['resume'],
    ['cancel'],
    ['revert'],
  ])
    printed.push(await inName(...args))
  const show = ['batches', 'show', name, '--project', 'shop']
  printed.push(
    await runCommand(writebackCommand, show, useCases, {
      variables: { DESKMIRROR_DATABASE_URL: url },
    }),
  )
  printed.push(await run('batches --limit 1'))
  for (const { out, err } of printed) expect(`${out}${err}`).not.toMatch(/[^\P{Cc}\n]|\u202e/u)
})
