/** `deskmirror writeback`: add, import, list, show and decide. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { command as writebackCommand } from '../../src/cli/writeback.ts'
import type { DecisionReport } from '../../src/outbox/core/decision-terms.ts'
import type { NamedEntry, OutboxEntry } from '../../src/outbox/core/outbox-entry.ts'
import { createReviewCounter } from '../../src/outbox/core/review/summary.ts'
import { UserError } from '../../src/values/user-error.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { runCommand } from './run-command.ts'
import { runInProcess } from './run-in-process.ts'
import { runDeskmirror } from './run-process.ts'
import { startCliScenario } from './scenario.ts'

const emptyFolder = createTempFolder(afterAll)
const c = '7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f'
const estimate = { queuedEarlier: 0, takesMs: 527, worker: false, whyStopped: null }

function writeback(
  args: readonly string[],
  work: Parameters<typeof runCommand>[2],
  input: Buffer = Buffer.of(),
) {
  return runCommand(writebackCommand, args, work, {
    now: Date.parse('2026-06-01T12:00:00Z'),
    input,
  })
}

describe('writeback add', () => {
  const added = async (...args: string[]) => {
    const asked: unknown[] = []
    const result = await writeback(['add', ...args, '--project', 'shop'], {
      addWriteback: async (_, { name }, request, by) => {
        asked.push(request, by)
        return { project: name, id: 'the-id', status: 'queued', marks: [], ...estimate }
      },
    })
    return { ...result, request: asked[0], by: asked[1] }
  }

  test('builds a request from the options of the operation and prints only the id', async () => {
    const { exit, out, err, request, by } = await added(
      ...['message', '--conversation', c, '--sender-name', 'Ann', '--content', 'Hi'],
      ...['--ref', 'r1', '--expect', '12', '--expires', '24h'],
    )
    expect([exit, out, err]).toEqual([0, 'the-id\n', 'next: deskmirror push --project shop\n'])
    const payload = { content: 'Hi', sender_name: 'Ann' }
    const optional = { ref: 'r1', expect: '12', expiresAt: '2026-06-02T12:00:00Z' }
    expect([request, by]).toEqual([
      { operation: 'message', target: c, payload, ...optional },
      { createdBy: 'ada' },
    ])
  })

  test('does not say that it is sent while all sending is stopped', async () => {
    const result = await writeback(['add', 'handled', '--conversation', c, '--project', 'shop'], {
      addWriteback: async (_, { name }) => {
        const stopped = { ...estimate, worker: true, whyStopped: 'bob stopped all sending' }
        return { project: name, id: 'the-id', status: 'queued', marks: [], ...stopped }
      },
    })
    const why = 'bob stopped all sending: nothing leaves before deskmirror writeback resume --all'
    expect(result.err).toBe(`${why} --project shop\n`)
  })

  test.each([
    [['handled', '--conversation', c], { handled: true }],
    [['handled', '--conversation', c, '--handled', 'false'], { handled: false }],
    [['note', '--visitor', c, '--content', 'n'], { content: 'n' }],
    [['visitor', '--visitor', c, '--name', 'Ada'], { name: 'Ada' }],
    [
      ['visitor', '--visitor', c, '--clear-name', '--email', 'a@b.c'],
      { name: null, email: 'a@b.c' },
    ],
    [['visitor', '--visitor', c, '--clear-email'], { email: null }],
  ])('%j', async (args, payload) => {
    expect((await added(...args)).request).toMatchObject({ operation: args[0], target: c, payload })
  })

  test('reports all mistakes at once, by option name', async () => {
    const { exit, out, err, request } = await added(
      'message',
      '--conversation',
      'x',
      '--content',
      ' ',
    )
    expect([exit, out, request]).toEqual([2, '', undefined])
    expect(err.split('\n').slice(1, 4)).toEqual([
      '  --conversation: is not a UUID',
      '  --content: is empty',
      '  --sender-name: is missing',
    ])
    expect(err).toContain('→ give --sender-name NAME, or set reply_as in the configuration')
  })

  test('rejects an expiry that has passed and says what to do', async () => {
    const { exit, err, request } = await added(
      'handled',
      '--conversation',
      c,
      '--expires-at',
      '2026-06-01T11:59:59Z',
    )
    expect([exit, request, err]).toEqual([
      2,
      undefined,
      expect.stringMatching(/--expires-at: has passed; leave it out, or give a future time/),
    ])
  })

  test('reads a long text from standard input and rejects invalid UTF-8', async () => {
    const texts: unknown[] = []
    const note = (input: Buffer) =>
      writeback(
        ['add', 'note', '--visitor', c, '--content', '-', '--project', 'shop'],
        {
          addWriteback: async (_, { name }, { payload }) => {
            texts.push(payload)
            return { project: name, id: 'the-id', status: 'queued', marks: [], ...estimate }
          },
        },
        input,
      )
    expect((await note(Buffer.from('Zwölf\n\nBoxkämpfer\n'))).exit).toBe(0)
    expect(await note(Buffer.from('caf\xe9', 'latin1'))).toMatchObject({
      exit: 2,
      err: expect.stringMatching(/not UTF-8/),
    })
    expect(texts).toEqual([{ content: 'Zwölf\n\nBoxkämpfer' }])
  })

  test('requires a project name if several are configured', async () => {
    const { exit, err } = await writeback(['add', 'handled', '--conversation', c], {})
    expect([exit, err]).toEqual([
      2,
      expect.stringMatching(/one project.*shop, school\n {2}→ name one of those/),
    ])
  })
})

describe('decisions', () => {
  const decided = async (args: readonly string[], report: Partial<DecisionReport> = {}) => {
    const asked: unknown[] = []
    const result = await writeback([...args, '--project', 'shop'], {
      decideWritebacks: async (_, { name }, decision, { selection, by }) => {
        asked.push(decision, selection, by)
        return { project: name, moved: 1, ids: ['id-1'], stayed: [], ...report }
      },
    })
    return { ...result, asked }
  }

  test.each<[string[], string, object]>([
    [['approve', 'a', 'b'], 'approved', { ids: ['a', 'b'] }],
    [['approve', '--batch', 'x'], 'approved', { batch: 'x' }],
    [['cancel', '--all'], 'cancelled', {}],
    [['retry', '--status', 'failed,expired'], 'retried', { statuses: ['failed', 'expired'] }],
    [['resolve', 'a', '--arrived'], 'arrived', { ids: ['a'] }],
    [['resolve', 'a', '--lost'], 'lost', { ids: ['a'] }],
  ])('%j', async (args, decision, selection) => {
    expect(await decided(args)).toMatchObject({ exit: 0, asked: [decision, selection, 'ada'] })
  })

  test('retrying an import retries only failed write-backs, not cancelled ones', async () => {
    expect((await decided(['retry', '--batch', 'x'])).asked[1]).toEqual({
      batch: 'x',
      statuses: ['failed'],
    })
  })

  test.each([
    [['cancel']],
    [['approve']],
    [['retry']],
    [['resolve', '--lost']],
    [['cancel', 'a', '--all']],
    [['cancel', '--batch', 'x', '--all']],
    [['retry', 'a', '--status', 'failed']],
  ])('an unclear selection changes nothing: %j', async (args) => {
    const { exit, asked, err } = await decided(args)
    expect([exit, asked, err]).toEqual([
      2,
      [],
      expect.stringMatching(/it is unclear which write-backs to select\n {2}→ /),
    ])
  })

  test('resolve requires the outcome', async () => {
    const { exit, asked, err } = await decided(['resolve', 'a'])
    expect([exit, asked, err]).toEqual([
      2,
      [],
      expect.stringContaining('the outcome is missing\n  → '),
    ])
  })

  test('an id that does not change is explained, with exit code 3', async () => {
    const stayed = [{ id: 'id-2', status: 'succeeded', count: 1, why: 'it has arrived' }] as const
    const { exit, out } = await decided(['cancel', 'id-1', 'id-2'], { stayed })
    expect([exit, out]).toEqual([3, '1 cancelled\nid-2 stays succeeded: it has arrived\n'])
  })

  test('cancel --all reports what is in flight, with exit code 3', async () => {
    const stayed = [{ id: null, status: 'sending', count: 2, why: 'a reason' }] as const
    expect(await decided(['cancel', '--all'], { stayed })).toMatchObject({
      exit: 3,
      out: '1 cancelled\n2 are in flight: a reason\n',
    })
  })

  test('what was settled before is counted in one line: no such decision is about it', async () => {
    const stayed = (['succeeded', 'failed'] as const).map((status, n) => {
      return { id: null, status, count: n + 7, why: 'a reason' }
    })
    expect(await decided(['approve', '--all'], { stayed })).toMatchObject({
      exit: 0,
      out: expect.stringMatching(
        /^1 queued\nthe others stay as they are: 7 succeeded, 8 failed\nnext: /,
      ),
    })
  })

  test('a lost write-back is not resent automatically', async () => {
    expect((await decided(['resolve', 'id-1', '--lost'])).out).toContain(
      'deskmirror writeback retry id-1 --project shop sends it again',
    )
  })
})

test('a list has a head, names, words, refs and short ids, and says how many more match', async () => {
  const common = {
    conversationId: c,
    status: 'conflict',
    finishedAt: '2026-06-01T11:58:00Z',
    reason: 'x',
  }
  const entries = [
    {
      id: '0199a3f2-51c4-7aaa-8bbb-0123456789ab',
      operation: 'handled',
      payload: { handled: true },
      visitorName: null,
    },
    {
      id: '0199a3f2-51c4-7aaa-8bbb-0123456789cd',
      operation: 'message',
      visitorName: 'Ada',
      firstWords: 'Hello',
      ref: 'a-7',
    },
  ].map(
    (entry) =>
      ({
        firstWords: null,
        ref: entry.id,
        ...common,
        error: 'a visitor wrote',
        ...entry,
      }) as unknown as NamedEntry,
  )
  const { out } = await writeback(
    ['list', '--limit', '2', '--newest', '--status', 'conflict,queued', '--project', 'shop'],
    {
      listWritebacks: async (_, { name }, filter, part) => {
        expect([filter, part]).toEqual([
          { statuses: ['queued', 'conflict'] },
          { limit: 2, newest: true },
        ])
        return {
          project: name,
          writebacks: entries,
          counts: { conflict: 3, queued: 1200 },
          withoutProject: 2,
        }
      },
    },
  )
  expect(out.split('\n')).toEqual([
    'id         operation   visitor                    what      ref   status     when        why',
    '456789ab   handled     7d1f4f6e-5a2b-4c3d-8e9f…   handled         conflict   2 min ago   a visitor wrote',
    '456789cd   message     Ada                        "Hello"   a-7   conflict   2 min ago   a visitor wrote',
    '… and 1,201 more; --limit lists more of them, --csv all',
    '1,200 queued, 3 conflicts',
    '2 rows have no project and are not sent until project_id is set in writebacks and writeback_events',
    '',
  ])
})

function queuedImport(project: string) {
  const found = {
    notices: [],
    ignoredColumns: [],
    differing: 0,
    differingBatch: null,
    emptyRows: 0,
    columns: {},
  }
  const rows = { batch: 'replies-1', queued: 3, alreadyQueued: 0, ...found }
  return { outcome: 'queued', project, ...rows, ...estimate } as const
}

test('an import that blocks other SQLite writers for long warns first', async () => {
  const imported = async (rows: number) => {
    const { err } = await writeback(['import', 'replies.csv', '--project', 'shop'], {
      importWritebacks: async (_, { name }, __, { onReview }) => {
        await onReview({ ...createReviewCounter().summary(), rows })
        return { ...queuedImport(name), queued: rows }
      },
    })
    return err
  }
  expect(await imported(300_000)).toMatch(/300,000 rows.*wait meanwhile.*split the file/)
  expect(await imported(3000)).toBe('')
})

test('an unknown id gives one clear message', async () => {
  const { exit, err } = await writeback(['show', 'x', '--project', 'shop'], {
    showWriteback: async () => {
      throw new UserError({ what: 'nothing', why: 'no such id', next: 'look', exitCode: 2 })
    },
  })
  expect([exit, err]).toEqual([2, 'deskmirror: nothing: no such id\n  → look\n'])
})

describe.concurrent('with a real queue', () => {
  test('a file is queued once, pushed, corrected from the list of failures, and pushed again', async ({
    onTestFinished,
  }) => {
    const d = await startCliScenario(onTestFinished)
    const unknownId = '00000000-0000-4000-8000-000000000000'
    const file = d.file(
      'my replies (1).jsonl',
      [
        {
          operation: 'message',
          conversation_id: d.conversation(0),
          content: '=1+1',
          sender_name: 'Ann',
          ref: 'a',
        },
        { operation: 'handled', conversation_id: d.conversation(0), handled: true },
        { operation: 'handled', conversation_id: unknownId, handled: true, ref: 'b' },
      ]
        .map((line) => JSON.stringify(line))
        .join('\n'),
    )
    const first = await d.ask('writeback', 'import', file, '--quiet')
    const { batch } = first.document
    expect(first).toMatchObject({
      exit: 0,
      document: { outcome: 'queued', queued: 3, alreadyQueued: 0, queuedEarlier: 0, worker: false },
    })
    expect(batch).toMatch(/^my-replies-1-[0-9a-f]{12}$/)

    const again = await d.runProgram(['writeback', 'import', '-'], {
      input: readFileSync(join(d.folder, file), 'utf8'),
    })
    expect(again).toMatchObject({
      exit: 0,
      out: expect.stringMatching(
        new RegExp(
          `queued nothing: this file was imported as ${batch}\n[\\s\\S]*retry --batch ${batch} --status failed,conflict,cancelled,expired`,
        ),
      ),
    })

    expect(await d.ask('push', '--quiet')).toMatchObject({
      exit: 3,
      document: { projects: [{ settled: { succeeded: 2, failed: 1 }, outcome: 'done' }] },
    })
    expect(d.service.ledger().map(({ operation }) => operation)).toEqual([
      'sendMessage',
      'setHandled',
    ])

    const csv = await d.run(['writeback', 'list', '--status', 'failed', '--csv'])
    expect(csv.out.trimEnd().split('\r\n')).toHaveLength(2)
    const { writebacks } = (await d.ask('writeback', 'list', '--status', 'succeeded')).document as {
      writebacks: readonly { visitorName: string }[]
    }
    const sent = await d.run(['writeback', 'list', '--status', 'succeeded', '--csv'])
    expect(sent.out).toContain(',visitor_name,')
    for (const { visitorName } of writebacks) expect(sent.out).toContain(`,${visitorName},`)
    const corrected = d.file(
      'corrected.csv',
      csv.out.replace(`,${unknownId},`, `,${d.conversation(1)},`),
    )
    expect(await d.ask('writeback', 'import', corrected)).toMatchObject({
      exit: 0,
      document: { queued: 1, alreadyQueued: 0 },
    })
    expect((await d.runProgram(['push', '--quiet'])).exit).toBe(0)
    const list = await d.ask('writeback', 'list', '--batch', batch)
    expect(list.document.counts).toEqual({ succeeded: 2 })
  })

  test('a file with mistakes queues nothing, and lists them by kind', async ({
    onTestFinished,
  }) => {
    const d = await startCliScenario(onTestFinished)
    const valid = `{"operation":"handled","conversation_id":"${d.conversation(0)}","handled":true}`
    const invalid = '{"operation":"note","content":"n"}'
    const file = d.file(
      'orders.jsonl',
      [valid, ...Array.from({ length: 30 }, () => invalid), '{', valid].join('\n'),
    )
    const { exit, out, err } = await d.run(['writeback', 'import', file, '--quiet'])
    expect([exit, out]).toEqual([2, ''])
    expect(err.trimEnd().split('\n')).toEqual([
      'deskmirror: nothing was queued, as 31 of 33 rows have mistakes',
      '  visitor_id: is missing · 30 rows: 2–31',
      '  is not JSON · row 32',
      '  → correct the file and import it again; --mistakes FILE.csv writes these rows to a file, each with its mistakes',
    ])
    const { document } = await d.ask('writeback', 'import', file, '--dry-run')
    expect([document.error.exitCode, document.mistaken, document.mistakes.at(-1)]).toEqual([
      2,
      31,
      { line: 32, row: 32, ref: null, why: ['is not JSON'] },
    ])
    expect((await d.run(['writeback', 'list'])).out).toBe('no write-backs\n')
  })

  test('a dry run shows what the rows would do as the mirror shows it, says how old that is, makes no request and changes nothing', async ({
    onTestFinished,
  }) => {
    const d = await startCliScenario(onTestFinished)
    d.service.advance(2000)
    const [open, changed, handled] = [0, 1, 2].map(d.conversation)
    const visitor = [...d.service.truth('visitors')][0]!
    const { name } = visitor.row as { name: string }
    for (const id of [open, changed]) d.service.mutate.setHandled(id ?? '', false)
    d.service.mutate.setHandled(handled ?? '', true)
    expect((await d.run(['sync', '--mode', 'full', '--quiet'])).exit).toBe(0)
    d.service.mutate.visitorWrites(changed ?? '', 'One more thing.')
    const file = d.file(
      'plan.jsonl',
      [
        { operation: 'handled', conversation_id: open, handled: true },
        { operation: 'handled', conversation_id: changed, handled: true },
        { operation: 'handled', conversation_id: handled, handled: true },
        { operation: 'message', conversation_id: handled, content: 'Hello', sender_name: 'Ann' },
        { operation: 'visitor', visitor_id: visitor.id, name: `${name}!` },
        { operation: 'visitor', visitor_id: visitor.id, name },
        { operation: 'note', visitor_id: '00000000-0000-4000-8000-000000000000', content: 'n' },
        { operation: 'note', visitor_id: visitor.id, content: 'and a note' },
      ]
        .map((line) => JSON.stringify(line))
        .join('\n'),
    )
    const before = d.service.log().length
    const { exit, document } = await d.ask('writeback', 'import', file, '--dry-run', '--quiet')
    expect([exit, document.review.counts]).toEqual([
      0,
      { would_send: 2, would_change: 4, already_so: 1, stands_against: 0, not_known: 1 },
    ])
    const { streams } = (await d.ask('status')).document.projects[0]
    const reads = streams.map(({ syncedAt }: { syncedAt: string }) => syncedAt)
    expect(reads).toContain(document.review.mirrorAsOf)
    expect((await d.run(['writeback', 'list'])).out).toBe('no write-backs\n')
    const all = await d.run(['writeback', 'import', file, '--dry-run', '--all', '--quiet'])
    const [summary = '', rowLines = ''] = all.out.split('all rows:\n')
    // One kind of row needs no counts above its rows.
    const note = JSON.stringify({ operation: 'note', visitor_id: visitor.id, content: 'n' })
    const one = ['writeback', 'import', d.file('one.jsonl', note), '--dry-run', '--quiet']
    const single = await d.run(one)
    expect(single.out.match(/^will be sent/gm)).toHaveLength(1)
    expect(summary).toContain(
      `(${document.review.mirrorAsOf}); every send looks at the live record first\n`,
    )
    expect(rowLines.split('\n').map((line) => line.replace(/ +/g, ' '))).toEqual([
      expect.stringMatching(/^ 1 would change mark handled .+ last words ".+" open → handled$/),
      expect.stringMatching(/^ 2 would change mark handled .+ last words ".+" open → handled$/),
      expect.stringMatching(/^ 3 already done mark handled .+ nothing changes$/),
      expect.stringMatching(
        /^ 4 will be sent reply .+ as Ann handled → open · "Hello" ! the sender "Ann" is new: no earlier reply has it$/,
      ),
      expect.stringMatching(/^ 5 would change correct visitor .+ name ".+" → ".+!"$/),
      expect.stringMatching(
        /^ 6 would change correct visitor .+ name ".+!" → ".+" \(after row 5\)$/,
      ),
      ' 7 not known note visitor 00000000-0000-4000-8000-000000000000 the mirror does not have this visitor · "n"',
      expect.stringMatching(/^ 8 will be sent note .+ "and a note"$/),
      'takes about 1 s at 60,000 writes in 1 s',
      'nothing was queued',
      '',
    ])
    expect(d.service.log()).toHaveLength(before)
  })

  test.each([
    [['import', 'replies.csv', '--check'], '--check'],
    [['import', 'replies.csv', '--dry-run', '--limit', '7'], '--limit'],
    [['batches', 'show', 'replies', '--check'], '--check'],
    [['batches', 'show', 'replies', '--limit=7'], '--limit'],
  ])('%j is refused with what to do: a review shows what the mirror has', async (args, option) => {
    const { exit, out, err } = await runInProcess(['writeback', ...args], { cwd: emptyFolder })
    expect([exit, out]).toEqual([2, ''])
    expect(err.trimEnd().split('\n')).toEqual([
      `deskmirror: the option ${option} is gone: a review shows what the mirror has, and every send looks at the live record first`,
      '  → leave it out; `deskmirror sync` brings the mirror up to date',
    ])
  })

  test('a large import waits for approval; cancel, retry and an expiry work', async ({
    onTestFinished,
  }) => {
    const d = await startCliScenario(onTestFinished)
    const line = (n: number) =>
      `{"operation":"handled","conversation_id":"${d.conversation(n)}","handled":true}`
    const file = d.file('flags.jsonl', [0, 1, 2].map(line).join('\n'))
    const env = { DESKMIRROR_APPROVE_OVER: '2' }
    const imported = await d.run(['writeback', 'import', file, '--expires', '24h', '--quiet'], {
      env,
    })
    const [, batch = ''] = /--batch (\S+)/.exec(imported.out) ?? []
    expect(imported.out).toContain(
      `they wait for approval: deskmirror writeback approve --batch ${batch}`,
    )
    expect((await d.run(['push', '--quiet'])).out).toContain('left: 3 drafts\n')
    expect(d.service.ledger()).toEqual([])

    expect(await d.ask('writeback', 'approve', '--batch', batch)).toMatchObject({
      exit: 0,
      document: { moved: 3 },
    })
    const { writebacks } = (await d.ask('writeback', 'list')).document
    const ids: string[] = writebacks.map(({ id }: OutboxEntry) => id)
    expect((await d.run(['writeback', 'cancel', ids[0] ?? ''])).out).toBe('1 cancelled\n')
    const show = await d.run(['writeback', 'show', (ids[0] ?? '').slice(0, -1)])
    expect(show.out).toMatch(/draft → queued +approved by .*\n.*queued → cancelled +cancelled by /)
    expect((await d.run(['writeback', 'cancel', '--all'])).exit).toBe(0)
    expect((await d.ask('writeback', 'retry', '--status', 'cancelled')).document.moved).toBe(3)
    expect((await d.run(['push', '--quiet'])).exit).toBe(0)
    expect(d.service.ledger()).toHaveLength(3)
  })

  test('an uncertain write-back blocks its lane until a person resolves it', async ({
    onTestFinished,
  }) => {
    const d = await startCliScenario(onTestFinished)
    d.service.scriptFault({ kind: 'reset-after', operation: 'addNote' })
    const note = ['writeback', 'add', 'note', '--visitor', d.visitor(0), '--quiet', '--content']
    const first = (await d.run([...note, '-'], { input: 'First.\n' })).out.trim()
    const second = (await d.run([...note, 'Second.'])).out.trim()
    expect(await d.run(['push', '--quiet'])).toMatchObject({
      exit: 3,
      out: expect.stringContaining('1 lane waits until you resolve an uncertain write-back'),
    })
    expect((await d.run(['status'])).out).toContain(
      '1 lane waits until you resolve an uncertain write-back',
    )
    expect((await d.ask('writeback', 'show', second)).document).toMatchObject({
      writeback: { payload: { content: 'Second.' } },
      waitsFor: { id: first, status: 'uncertain' },
    })
    const retried = await d.run(['writeback', 'retry', first])
    expect(retried).toMatchObject({
      exit: 3,
      out: expect.stringContaining('with `writeback resolve`'),
    })
    expect((await d.run(['writeback', 'resolve', first, '--arrived'])).exit).toBe(0)
    expect((await d.run(['push', '--quiet'])).exit).toBe(0)
    expect(d.service.ledger().map(({ body }) => body)).toEqual([
      { content: 'First.' },
      { content: 'Second.' },
    ])
  })
})

describe.concurrent('help of each command', () => {
  test.each([
    'add',
    'import',
    'list',
    'show',
    'approve',
    'cancel',
    'retry',
    'resolve',
    'add message',
  ])('writeback %s has examples and exit codes', async (name) => {
    const shown: string[] = []
    const path = name.split(' ')
    let command = writebackCommand({} as Parameters<typeof writebackCommand>[0])
    for (const part of path)
      command = command.commands.find((inner) => inner.name() === part) ?? command
    command.configureOutput({ writeOut: (text) => shown.push(text) }).outputHelp()
    expect(shown.join('')).toMatch(/\$ deskmirror writeback[\s\S]*Exit code: 0/)
  })
})

test('an unknown writeback command ends with 2 and points to the help', async () => {
  const { exit, err } = await runDeskmirror(['writeback', 'lst'], { cwd: createTempFolder() })
  expect([exit, err]).toEqual([
    2,
    expect.stringMatching(/Did you mean list.*\(deskmirror writeback --help/s),
  ])
})
