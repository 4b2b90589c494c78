/**
 * `deskmirror writeback import` as a person uses it: mistakes, doubles, drafts, and rows of an
 * export changed by hand.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { sampled } from '../support/sampled.ts'
import { cleanEnvironment, launcher } from './run-process.ts'
import { startCliScenario } from './scenario.ts'

const person = ['--as', 'Zoë']

describe.concurrent('a file that a person made', () => {
  test('may come from standard input, by whatever name, or from a program that the shell starts', async ({
    onTestFinished,
  }) => {
    const d = await startCliScenario(onTestFinished)
    const text = `operation,conversation_id,handled\nhandled,${d.conversation(0)},true\n`
    const file = d.file('right.csv', text)
    const command = (given: string) => ['writeback', 'import', given, '--dry-run', '--json']
    const ways = ['-', '/dev/stdin', '/dev/fd/0'].flatMap((given) =>
      [{ input: text }, { inputFile: join(d.folder, file) }].map((input) => ({ given, input })),
    )
    // Each name, and each kind of input.
    for (const { given, input } of sampled(ways, (_, index) => [0, 3, 4].includes(index)))
      expect((await d.runProgram(command(given), input)).out).toContain('"outcome": "reviewed"')
    const shell = `exec "$@" <(sleep 0.2; cat ${file}) --dry-run --json`
    const args = ['-c', shell, 'bash', process.execPath, launcher, 'writeback', 'import']
    const env = cleanEnvironment(d.env)
    const { stdout } = await promisify(execFile)('bash', args, { cwd: d.folder, env })
    expect(stdout).toContain('"outcome": "reviewed"')
  })

  test('is corrected mistake by mistake, and becomes a batch with what the person said about it', async ({
    onTestFinished,
  }) => {
    const d = await startCliScenario(onTestFinished)
    const [first, second] = [d.conversation(0), d.conversation(1)]
    const head = 'Operation;Conversation ID;Content;Sender Name;Handled;Ref;Owner'
    const rows = [
      `message;${first};"Good morning;\nit is on its way.";Ann;;r-1;Bob`,
      `message;${second};#NV;Ann;;r-2;Bob`,
      `handled;${first};;;WAHR;r-3;Bob`,
      `message;${first};Is it there?;Ann;;r-4;Bob`,
      `message;${first};"GOOD morning; it is  on its way.";Ann;;r-5;Bob`,
    ]
    const file = d.file('my replies.csv', `\uFEFF${[head, ...rows].join('\r\n')}\r\n`)
    const run = (...options: readonly string[]) =>
      d.run(['writeback', 'import', file, '--quiet', ...options])

    expect(await run()).toEqual({
      exit: 2,
      out: '',
      err: [
        'deskmirror: nothing was queued, as the first row does not fit: Owner: unknown column · row 1 · found "column G"',
        '  → correct the file and import it again; the columns of an import are operation, conversation_id, visitor_id, content, sender_name, handled, name, email, ref, expect, expires_at; --ignore-columns a,b leaves others out, and --map says what they mean',
        '',
      ].join('\n'),
    })

    expect(await run('--ignore-columns', 'owner', '--mistakes', 'mistakes.csv')).toEqual({
      exit: 2,
      out: '',
      err: [
        'deskmirror: nothing was queued, as 2 of 5 rows have mistakes',
        '  content: is the error of a formula · row 3 · found "#NV" · ref r-2',
        '  content: an earlier row sends the same words to the same conversation · row 6 · before: row 2 · ref r-5',
        '  → correct the file and import it again; --allow-duplicates queues them all the same; mistakes.csv has these rows, each with its mistakes',
        '',
      ].join('\n'),
    })
    expect(readFileSync(join(d.folder, 'mistakes.csv'), 'utf8')).toBe(
      [
        '\uFEFFrow;mistake;Operation;Conversation ID;Content;Sender Name;Handled;Ref;Owner',
        `3;content: is the error of a formula;message;${second};#NV;Ann;;r-2;Bob`,
        `6;content: an earlier row sends the same words to the same conversation;message;${first};"GOOD morning; it is  on its way.";Ann;;r-5;Bob`,
        '',
      ].join('\r\n'),
    )
    expect((await run('--ignore-columns', '--mistakes', file)).err).toContain(
      `cannot write ${file}: it is the file that is imported, which would be lost`,
    )

    const corrected = d.file(
      'my replies.csv',
      [head, ...rows].join('\r\n').replace('#NV', 'It is here.'),
    )
    const options = [
      '--ignore-columns',
      '--allow-duplicates',
      '--draft',
      '--title',
      'Apology',
      '--note',
      'As agreed',
    ]
    const imported = await d.ask('writeback', 'import', corrected, '--quiet', ...options, ...person)
    expect(imported).toMatchObject({
      exit: 0,
      document: { outcome: 'draft', queued: 5, ignoredColumns: ['Owner'], notices: [{ count: 1 }] },
    })
    expect(
      await createOutbox(d.warehouse.projectDb(d.service.projectId)).listBatches(9),
    ).toMatchObject([
      {
        id: imported.document.batch,
        title: 'Apology',
        note: 'As agreed',
        source: 'my replies.csv',
        rows: 5,
        createdBy: 'Zoë',
        counts: { draft: 5 },
      },
    ])
  })

  test('an export that was changed by hand is not queued again, and its reader is shown the way out', async ({
    onTestFinished,
  }) => {
    const d = await startCliScenario(onTestFinished)
    const flags = [0, 1].map((n) => ({
      operation: 'handled',
      conversation_id: d.conversation(n),
      handled: true,
    }))
    const file = d.file('flags.jsonl', flags.map((flag) => JSON.stringify(flag)).join('\n'))
    const { batch } = (await d.ask('writeback', 'import', file, '--quiet')).document
    const exported = (await d.run(['writeback', 'list', '--csv'])).out
    const flipped = d.file('flipped.csv', exported.replaceAll(',true,', ',false,'))
    const { exit, out } = await d.run(['writeback', 'import', flipped, '--quiet'])
    expect(exit).toBe(3)
    expect(out.split('\n')).toEqual([
      'queued nothing',
      '2 refs were queued before',
      expect.stringMatching(
        /^ref: was queued before for another write-back, so this row is not queued · 2 rows: 2–3 · /,
      ),
      `to take back what was sent: deskmirror writeback revert --batch ${batch}`,
      'to queue these rows as new write-backs: empty their column ref',
      '',
    ])
  })
})

test('replies by the name of a text, signed as the project says, with the words of a mistake', async ({
  onTestFinished,
}) => {
  const d = await startCliScenario(onTestFinished)
  d.file(
    'deskmirror.yaml',
    'reply_as: The shop\nreplies:\n  thanks: "Dear {{name}}, thank you. {{sender}}"\n',
  )
  const rows = await d.warehouse.query(
    `select c.id, v.name from conversations c join visitors v on v.id = c.visitor_id
      where v.name is not null order by c.id limit 3`,
  )
  const [first, second, third] = rows.map(({ id }) => String(id))
  const name = String(rows[0]?.['name'])
  const add = ['writeback', 'add', 'message', '--conversation', first ?? '']
  expect(await d.run([...add, '--template', 'thanks'])).toMatchObject({ exit: 0 })
  const wrong = await d.run([...add, '--template', 'thank'])
  expect([wrong.exit, wrong.err]).toEqual([
    2,
    expect.stringContaining('--template: is not a name in `replies` of the configuration'),
  ])
  d.file('sheet.csv', `conversation_id,template,reply_by\n${second},thanks,\n${third},,\n`)
  const imported = await d.ask('writeback', 'import', 'sheet.csv', '--ignore-columns')
  expect(imported.document).toMatchObject({ outcome: 'queued', queued: 1, emptyRows: 1 })
  const { document } = await d.ask('writeback', 'list')
  const payloads = document.writebacks.map(({ payload }: { payload: object }) => payload)
  expect(payloads).toEqual([
    { content: `Dear ${name}, thank you. The shop`, sender_name: 'The shop' },
    { content: expect.stringMatching(/^Dear .+, thank you/), sender_name: 'The shop' },
  ])
})
