/**
 * `batches show`: outcome by kind with samples, reasons, the review of what has not left, its
 * files, and watching.
 */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import * as batches from '../../src/app/batches.ts'
import * as watching from '../../src/app/batches.ts'
import type { Warehouse } from '../../src/app/open.ts'
import * as review from '../../src/app/review.ts'
import { command as writebackCommand } from '../../src/cli/writeback.ts'
import type { BatchReport } from '../../src/outbox/core/batches.ts'
import { toBatchProgress } from '../../src/outbox/read-reports.ts'
import type { Outbox } from '../../src/outbox/sql/outbox.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { conversation, queueFlags } from '../outbox/batch-fixture.ts'
import { databases } from '../support/databases.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { runCommand } from './run-command.ts'

const useCases = { ...batches, ...review, ...watching }

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

function run(...args: readonly string[]) {
  const options = {
    variables: { DESKMIRROR_DATABASE_URL: url },
    now: Date.parse('2030-01-01T00:00:00Z'),
  }
  return runCommand(
    writebackCommand,
    ['batches', 'show', ...args, '--project', 'shop'],
    useCases,
    options,
  )
}

/** Mirrors the n-th conversation, open, with a visitor and the visitor's words. */
async function mirrorConversation(n: number, words: string) {
  const common = `'{}', '2029-12-31T00:00:00Z', 1`
  await warehouse.query(`insert into visitors (project_id, id, raw, synced_at, asked_at, name)
    values ('p', 'v${n}', ${common}, 'Visitor <${n}>')`)
  await warehouse.query(`insert into conversations (project_id, id, raw, synced_at, asked_at, visitor_id, last_message_at)
    values ('p', '${conversation(n)}', ${common}, 'v${n}', '2029-12-31T00:00:00Z')`)
  await warehouse.query(`insert into messages (project_id, conversation_id, id, raw, synced_at, asked_at, sender_type, kind,
    content, created_at) values ('p', '${conversation(n)}', ${n}, ${common}, 'visitor', 'utterance', '${words}',
    '2029-12-31T00:00:00Z')`)
}

const squeeze = (out: string) => out.split('\n').map((line) => line.trim().replace(/ {2,}/g, ' | '))

describe('a batch', () => {
  test('that waits for approval shows what it would do, and how to approve exactly that', async () => {
    await mirrorConversation(0, 'Where is it?')
    await queueFlags(admin, 2, { status: 'draft' })
    const { out, exit } = await run('flags')
    expect(exit).toBe(0)
    const lines = squeeze(out)
    expect(lines).toContain('would change | 1 conversation to mark handled')
    expect(lines).toContain('1 | Visitor <0> | "Where is it?" | open → handled')
    expect(lines).toContain(
      'not known: 1 conversation to mark handled: the mirror does not have it',
    )
    expect(lines.at(-2)).toMatch(
      /^to approve exactly this: deskmirror writeback approve --batch flags --digest [0-9a-f]{16} --project shop$/,
    )
  })

  test('that is done shows outcomes with samples, the reasons grouped, and how to export what was not done', async () => {
    await mirrorConversation(0, 'Where is it?')
    const ids = await queueFlags(admin, 3)
    for (const [n, id] of ids.entries()) {
      const error = n === 0 ? 'null' : `'GET /c/${conversation(n)}: 404 NOT_FOUND'`
      await warehouse.query(`update writebacks set status = '${n === 0 ? 'succeeded' : 'failed'}', error = ${error},
        reason = 'x', finished_at = '2029-12-31T23:59:00Z' where id = '${id}'`)
    }
    const lines = squeeze((await run('flags')).out)
    expect(lines).toContain('failed: 2 handled')
    expect(lines).toContain(
      `${ids[0]!.slice(-8)} | handled | Visitor <0> | handled | succeeded | 1 min ago`,
    )
    expect(lines.filter((line) => line.startsWith('failed | 2'))).toEqual([
      expect.stringMatching(
        /^failed \| 2 \| GET \/c\/…: 404 NOT_FOUND \| for example: deskmirror writeback show [0-9a-f]{8} /,
      ),
    ])
    expect(lines.at(-2)).toBe(
      'to export what did not succeed: deskmirror writeback list --batch flags --status failed --csv --project shop',
    )
    expect(lines.join()).not.toContain('What has not left')
  })

  test('is written as one page and as CSV, with every row', async () => {
    await mirrorConversation(0, '=1+1')
    await queueFlags(admin, 12, { status: 'draft' })
    const folder = createTempFolder(onTestFinished)
    const [page, table] = [join(folder, 'review.html'), join(folder, 'review.csv')]
    const { out } = await run('flags', '--html', page, '--csv', table, '--all')
    expect(
      squeeze(out).filter((line) => /^\d+ \| (would change|not known) \| mark handled/.test(line)),
    ).toHaveLength(12)
    expect(readFileSync(page, 'utf8')).toContain('<bdi>Visitor &lt;0&gt;</bdi>')
    expect(readFileSync(table, 'utf8').trimEnd().split('\r\n')).toHaveLength(13)
    expect(readFileSync(table, 'utf8')).toContain("'=1+1")
    expect(await run('flags', '--html', page)).toMatchObject({
      exit: 2,
      err: expect.stringContaining('the file exists'),
    })
    expect((await run('flags', '--html', page, '--force')).exit).toBe(0)
    const absent = join(folder, 'absent.html')
    expect((await run('nothing', '--html', absent)).exit).toBe(2)
    expect(existsSync(absent)).toBe(false)
  })

  test('is watched until nothing happens to it without a person', async () => {
    await queueFlags(admin, 2)
    const shown = run('flags', '--watch')
    await warehouse.query(`update writebacks set status = 'sending'`)
    await warehouse.query(`update writebacks set status = 'succeeded'`)
    const { out, exit } = await shown
    expect([exit, squeeze(out)[2]]).toEqual([0, expect.stringMatching(/^2 rows \| done/)])
  })
})

test('progress says how fast it goes, when it is done, and until when it rests', () => {
  const reading = (at: number, succeeded: number, over: Partial<BatchReport['estimate']> = {}) => {
    const counts = { succeeded, queued: 100 - succeeded }
    const batch = { rows: 100, state: succeeded < 100 ? 'sending' : 'done', counts }
    const estimate = {
      left: 100 - succeeded,
      takesMs: 30_000,
      restsUntil: null,
      restsBecause: null,
      ...over,
    }
    return { at, report: { batch, estimate } as unknown as BatchReport }
  }
  const first = reading(0, 10)
  expect(toBatchProgress(first, reading(1000, 12))).toMatchObject({
    settled: 12,
    perMinute: null,
    doneAt: 31_000,
  })
  const rest = { restsUntil: '2030-01-01T00:00:00Z', restsBecause: 'the circuit breaker' }
  expect(toBatchProgress(first, reading(60_000, 70, rest))).toMatchObject({
    settled: 70,
    perMinute: 60,
    ...rest,
  })
  expect(toBatchProgress(first, reading(90_000, 100))).toMatchObject({
    settled: 100,
    perMinute: 60,
    doneAt: null,
  })
})
