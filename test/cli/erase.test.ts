/** `erase`, and `writeback resume --restored`, as a person types them. */

import { expect, test } from 'vitest'
import { createSends } from '../../src/outbox/sql/sending.ts'
import { startCliScenario } from './scenario.ts'

test.concurrent('erase shows what would go, and deletes it only with --yes', async ({
  onTestFinished,
}) => {
  const { run, visitor, warehouse } = await startCliScenario(onTestFinished)
  const isStored = async () =>
    (await warehouse.query(`select 1 from visitors where id = '${visitor(0)}'`)).length === 1
  const shown = await run(['erase', '--visitor', visitor(0)])
  expect([shown.exit, await isStored()]).toEqual([0, true])
  expect(shown.out).toMatch(
    /would be erased:\n {2}visitors +1\n[\s\S]*next: deskmirror erase --visitor \S+ --yes/,
  )
  const erased = await run(['erase', '--visitor', visitor(0), '--yes', '--json'])
  expect([erased.exit, await isStored()]).toEqual([0, false])
  expect(JSON.parse(erased.out)).toMatchObject({
    project: 'default',
    dryRun: false,
    rows: { visitors: 1 },
  })
  expect(JSON.parse(erased.out).search).toMatchObject({ remains: [], unread: [] })
  const again = await run(['erase', '--visitor', visitor(0), '--yes'], {
    env: { DESKMIRROR_LAKE: 'lake' },
  })
  expect(again.out).toMatch(/\nthe lake lake keeps it .*: deskmirror export --lake lake\n/)
  expect(again).toMatchObject({
    exit: 0,
    out: expect.stringMatching(
      /^erased before, and nothing of it is stored\nlooked for \d+ values? in .*: nothing is left/,
    ),
  })
  const unknown = await run(['erase', '--visitor', crypto.randomUUID(), '--yes'])
  expect([unknown.exit, unknown.err]).toEqual([
    2,
    expect.stringContaining('nothing is stored of the visitor'),
  ])
})

test.concurrent('erase says in words and by its exit code what is left where, and never a value', async ({
  onTestFinished,
}) => {
  const { run, visitor, warehouse, service } = await startCliScenario(onTestFinished)
  const erased = await run(['erase', '--visitor', visitor(0), '--yes'])
  expect(erased).toMatchObject({ exit: 0, out: expect.stringMatching(/files?: nothing is left\n/) })
  expect(erased.out).toContain('out of reach (docs/guide.md):\n  backups')
  await warehouse.query(`update visitors set email = 'jane@example.com' where id = '${visitor(1)}'`)
  await warehouse.query(`insert into writeback_batches (project_id, id, title, rows, created_at)
    values ('${service.projectId}', 'b', 'to jane@example.com', 0, '2026-01-01T00:00:00Z')`)
  const left = await run(['erase', '--visitor', visitor(1), '--yes'])
  expect(left.exit).toBe(3)
  expect(left.out).toMatch(
    /this is left\n {2}writeback_batches\.title: 1 value; .*\n {4}no command removes it/,
  )
  expect(left.out + left.err).not.toContain('jane@')
})

test.concurrent('status and push name the command that lets a restored warehouse send again', async ({
  onTestFinished,
}) => {
  const { run, warehouse, service, visitor } = await startCliScenario(onTestFinished)
  await run(['writeback', 'add', 'note', '--visitor', visitor(0), '--content', 'Called.'])
  await createSends(warehouse.projectDb(service.projectId)).hold('the warehouse is older')
  expect((await run(['status'])).out).toMatch(
    /not sending +since .*older; next: deskmirror writeback resume --restored/,
  )
  expect(await run(['push'])).toMatchObject({
    exit: 2,
    err: expect.stringContaining('writeback resume --restored'),
  })
  for (const wrong of [[], ['--send'], ['--restored', '--batch', 'x']])
    expect((await run(['writeback', 'resume', ...wrong])).exit, wrong.join(' ')).toBe(2)
  const resumed = await run(['writeback', 'resume', '--restored'])
  expect(resumed).toMatchObject({
    exit: 0,
    out: expect.stringContaining('1 queued write-back became a draft'),
  })
  expect((await run(['push'])).out).toContain('1 draft')
})
