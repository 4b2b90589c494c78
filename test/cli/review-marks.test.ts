/**
 * What every review shows of a reply beside its words: who signs it, and what a person should look
 * at first.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { startCliScenario } from './scenario.ts'

const header = 'operation,conversation_id,content,sender_name,ref'

async function start(atEnd: (work: () => void | Promise<void>) => void) {
  const d = await startCliScenario(atEnd)
  const write = (...rows: readonly string[]) =>
    d.file(
      'r.csv',
      [header, ...rows.map((row, n) => `message,${d.conversation(n)},${row}`)].join('\n'),
    )
  return { ...d, write, path: (name: string) => join(d.folder, name) }
}

describe.concurrent('a review', () => {
  test.each([
    ['“Hello, Bob”,Ann', 'Bob”'],
    ["'Hello, Bob',Ann", "Bob'"],
    ['Hello, Bob,Ann', 'Bob'],
  ])(
    'shows the sender of a row whose cells are shifted, and that it is new: %s',
    async (row, sender) => {
      const ends: (() => void | Promise<void>)[] = []
      const d = await start((work) => ends.push(work))
      const file = d.write(row, 'It is here.,Zoë,', 'It is there.,Zoë,')
      const isNew = `the sender ${JSON.stringify(sender)} is new: no earlier reply has it`
      const text = await d.run([
        'writeback',
        'import',
        file,
        '--dry-run',
        '--all',
        '--html',
        'r.html',
        '--csv',
        'out.csv',
      ])
      expect(text.out).toContain(isNew)
      expect(text.out).toMatch(/row +visitor .*sender +effect/)
      expect(text.out).toContain('as Zoë')
      for (const name of ['r.html', 'out.csv'])
        expect(readFileSync(d.path(name), 'utf8')).toContain('is new: no earlier reply')
      expect(readFileSync(d.path('out.csv'), 'utf8')).toContain(',Zoë,')
      const { document } = await d.ask('writeback', 'import', file, '--dry-run')
      expect(document.review.marked).toMatchObject({ rows: 1, samples: [{ senderName: sender }] })
      expect(document.review.marked.samples[0].marks.at(-1)).toBe(isNew)
      for (const end of ends.reverse()) await end()
    },
  )

  test('of a single write-back marks the same, and what another program has changed waits', async ({
    onTestFinished,
  }) => {
    const d = await start(onTestFinished)
    const add = (content: string) =>
      d.run(
        [
          'writeback',
          'add',
          'message',
          '--conversation',
          d.conversation(0),
          '--sender-name',
          'Bob',
          '--content',
        ].concat(content),
      )
    const damaged = await add('It&#39;s ready')
    expect(damaged.err).toContain(`look at this first: content has`)
    expect(damaged.err).toContain(`it was probably "It's ready"`)
    expect(damaged.err).toContain(
      'look at this first: the sender "Bob" is new: no earlier reply has it',
    )
    expect(damaged.err).toContain('it waits for approval: deskmirror writeback approve ')
    expect((await add('It is ready')).err).not.toMatch(/content has|waits for approval/)
    const states = await d.warehouse.query('select status from writebacks order by seq')
    expect(states).toEqual([{ status: 'draft' }, { status: 'queued' }])
    const args = [
      '--conversation',
      d.conversation(1),
      '--sender-name',
      'Bob',
      '--content',
      'Hello<br>there',
    ]
    const { document } = await d.ask('writeback', 'add', 'message', ...args)
    expect(document).toMatchObject({
      status: 'draft',
      marks: [expect.stringContaining('content has'), expect.any(String)],
    })
  })

  test('does not mark a sender that an earlier reply has', async ({ onTestFinished }) => {
    const d = await start(onTestFinished)
    const known = await d.warehouse.query(
      "select sender_display_name as name from messages where sender_type = 'agent' and sender_display_name is not null limit 1",
    )
    const file = d.write(`It is here.,${String(known[0]?.name)},`)
    const marked = async () =>
      (await d.ask('writeback', 'import', file, '--dry-run')).document.review.marked.rows
    // The facts for analysts are asked, or the messages while there are none.
    expect(await d.warehouse.query('select count(*) > 0 as has from fct_contribution')).toEqual([
      { has: 1 },
    ])
    expect(await marked()).toBe(0)
    await d.warehouse.query('delete from fct_contribution')
    expect(await marked()).toBe(0)
  })

  test.each([
    ['It&#39;s ready &amp; paid&nbsp;for', "It's ready & paid for"],
    ['Hello\\nit is ready\\n\\nAnn', 'Hello it is ready Ann'],
    ['Gr\\u00fc\\u00dfe', 'Grüße'],
    ['Gr%C3%BC%C3%9Fe%20aus%20K%C3%B6ln', 'Grüße aus Köln'],
  ])('says what a text probably was, and a person decides: %s', async (text, was) => {
    const ends: (() => void | Promise<void>)[] = []
    const d = await start((work) => ends.push(work))
    const file = d.write(`${text},Zoë,`, 'It is there.,Zoë,')
    const dry = await d.ask('writeback', 'import', file, '--dry-run')
    expect(dry.document).toMatchObject({
      outcome: 'reviewed',
      draft: true,
      review: { marked: { rows: 1 } },
    })
    const imported = await d.run(['writeback', 'import', file])
    expect([imported.exit, imported.out]).toEqual([
      0,
      expect.stringContaining(`it was probably "${was}"`),
    ])
    expect(imported.out).toContain(
      'another program has probably changed the text, so the batch waits for approval',
    )
    expect(await d.warehouse.query('select distinct status from writebacks')).toEqual([
      { status: 'draft' },
    ])
    for (const end of ends.reverse()) await end()
  })

  test.each(['T-1 ', ' T-1', 'T-1\u00a0', '\u200bT-1', 'T-1\ufeff'])(
    'a ref is the same with what nobody sees: %j',
    async (ref) => {
      const ends: (() => void | Promise<void>)[] = []
      const d = await start((work) => ends.push(work))
      const row = (key: string) =>
        `operation,visitor_id,content,ref\nnote,${d.visitor(0)},Called,${key}\n`
      await d.ask('writeback', 'import', d.file('a.csv', row('T-1')))
      expect(
        (await d.ask('writeback', 'import', d.file('b.csv', row(ref)))).document,
      ).toMatchObject({
        queued: 0,
        alreadyQueued: 1,
      })
      const line = JSON.stringify({
        operation: 'note',
        visitor_id: d.visitor(0),
        content: 'Called',
        ref,
      })
      expect((await d.ask('writeback', 'import', d.file('c.jsonl', line))).document).toMatchObject({
        queued: 0,
        alreadyQueued: 1,
      })
      for (const end of ends.reverse()) await end()
    },
  )
})
