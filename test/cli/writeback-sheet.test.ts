/**
 * From the list of who waits to a sheet, its replies, and back, as a head of support goes by the
 * command line.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createProjectFacts } from '../../src/analytics/sql/project-facts.ts'
import { defaultProject } from '../../src/config/config.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { secret } from '../../src/values/secret.ts'
import { type CliScenario, startCliScenario } from './scenario.ts'

type AtEnd = Parameters<typeof startCliScenario>[0]

async function startSheet(atEnd: AtEnd) {
  const d = await startCliScenario(atEnd, {
    size: { conversations: 90, visitors: 90, calls: 1, days: 1 },
  })
  const { projectId, baseUrl } = d.service
  const project = defaultProject({
    name: 'main',
    projectId,
    baseUrl: new URL(baseUrl),
    apiKey: secret('x'),
  })
  await createProjectFacts(d.warehouse.projectDb(projectId), project).refresh()
  await d.run(['writeback', 'sheet', '--output', 'waiting.csv'])
  const text = readFileSync(join(d.folder, 'waiting.csv'), 'utf8')
  return { d, text, outbox: createOutbox(d.warehouse.projectDb(projectId)) }
}

/** Every row with a `ref` becomes one with this reply, by its number from 1. */
function fill(sheet: string, reply: (row: number) => string) {
  let row = 0
  return sheet.replace(/,,,,,(?=sheet )/g, () => {
    row += 1
    return `,${reply(row)}`
  })
}

const importSheet = (d: CliScenario, name: string, ...options: readonly string[]) =>
  d.run(['writeback', 'import', name, '--quiet', ...options])

describe.concurrent('the sheet of who waits', () => {
  test('is imported as it is, filled in parts, and never queues a reply twice', async ({
    onTestFinished,
  }) => {
    const { d, text, outbox } = await startSheet(onTestFinished)
    expect((await importSheet(d, 'waiting.csv')).out).toMatch(
      /^queued nothing\n\d+ rows without a reply or a flag skipped/,
    )

    d.file(
      'first.csv',
      fill(text, (row) => (row === 1 ? 'Reply 1,yes,Ann,,' : ',,,,')),
    )
    const done = await d.ask('writeback', 'import', 'first.csv', '--quiet')
    expect(done.document).toMatchObject({ outcome: 'queued', queued: 2, alreadyQueued: 0 })
    expect(
      done.document.review.groups.map(({ action }: { action: string }) => action).sort(),
    ).toEqual(['mark_handled', 'reply'])

    const [head = '', ...rows] = fill(
      text,
      (row) => `Reply ${row},${row === 1 ? 'yes' : ''},Ann,,`,
    ).split('\r\n')
    const sorted = rows.filter((row) => row !== '').toReversed()
    d.file('more.csv', [`${head},Notes`, ...sorted.map((row) => `${row},mine`)].join('\r\n'))
    const second = await d.ask(
      'writeback',
      'import',
      'more.csv',
      '--quiet',
      '--map',
      'Notes=ignored',
    )
    expect(second.document).toMatchObject({
      alreadyQueued: 2,
      differing: 0,
      columns: { notes: 'ignored' },
    })

    // Nobody has written since, so each reply leaves, whatever happened in its conversation
    // besides.
    await d.run(['push', '--quiet'])
    const replies = await outbox.list({ operations: ['message'] }, 1000)
    expect(
      new Set(replies.map(({ status, expect: seen }) => `${status} ${seen === null}`)),
    ).toEqual(new Set(['succeeded false']))
    expect(new Set(replies.map(({ conversationId }) => conversationId)).size).toBe(replies.length)
    expect(replies.length).toBeGreaterThan(5)
  })

  test('numbers its rows as the spreadsheet does, in the mistakes, the review, the list and its correction', async ({
    onTestFinished,
  }) => {
    const { d, text, outbox } = await startSheet(onTestFinished)
    const filled = fill(text, (row) =>
      row === 1 ? '"Two\nlines",yes,Ann,,' : row === 2 ? '#REF!,,Ann,,' : 'Same,,Ann,,',
    )
    d.file('filled.csv', filled)
    const wrong = await importSheet(d, 'filled.csv', '--mistakes', 'mistakes.csv')
    expect([wrong.exit, wrong.err]).toEqual([
      2,
      expect.stringContaining('content: is the error of a formula · row 3 ·'),
    ])
    const corrected = readFileSync(join(d.folder, 'mistakes.csv'), 'utf8').replace(
      '#REF!',
      'Right.',
    )
    expect(corrected.split('\r\n')[1]).toMatch(/^3,/)

    d.file('filled.csv', filled.replace('#REF!', 'Right.'))
    const { out } = await importSheet(d, 'filled.csv', '--dry-run', '--all')
    expect(out).toMatch(/^ +2 .*reply/m)
    expect(out).toMatch(/^ +2 .*(mark handled|already done|handled)/m)
    expect(out).toMatch(/^ +3 .*Right/m)
    await importSheet(d, 'filled.csv', '--draft')
    const entries = await outbox.list({}, 3)
    expect(entries.map(({ operation, sourceRow }) => `${sourceRow} ${operation}`)).toEqual([
      '2 message',
      '2 handled',
      '3 message',
    ])
    expect((await d.run(['writeback', 'show', entries[2]?.id ?? ''])).out).toMatch(
      /row of its file +3/,
    )
  })

  test('is imported as a workbook, and CSV has the separator of the person', async ({
    onTestFinished,
  }) => {
    const { d, text } = await startSheet(onTestFinished)
    const rows = text.trimEnd().split('\r\n').length
    const written = await d.run(['writeback', 'sheet', '--output', 'waiting.xlsx'])
    expect(written.out).toBe(`wrote waiting.xlsx: ${rows - 1} rows\n`)
    expect((await importSheet(d, 'waiting.xlsx')).out).toMatch(
      new RegExp(`^queued nothing\\n${rows - 1} rows without a reply or a flag skipped`),
    )
    const semicolons = await d.run(['writeback', 'sheet', '--separator', ';'])
    expect(semicolons.out).toContain('conversation_id;visitor_name;visitor_email;')
    const contradiction = ['writeback', 'sheet', '--output', 'a.xlsx', '--separator', 'tab']
    expect(await d.run(contradiction)).toMatchObject({
      err: expect.stringContaining('--separator is for CSV'),
      exit: 2,
    })
  })

  test('has names of its own for columns, which are asked for once', async ({ onTestFinished }) => {
    const { d } = await startSheet(onTestFinished)
    const sheet = (n: number) =>
      `conversation_id;Was wir sagen\n${d.conversation(n)};Guten Tag ${n}\n`
    d.file('a.csv', sheet(0))
    d.file('b.csv', sheet(1))
    expect((await importSheet(d, 'a.csv', '--sender-name', 'Ann')).err).toContain(
      'Was wir sagen: unknown column',
    )
    for (const option of [
      ['--map', 'Was wir sahen=content'],
      ['--ignore-columns', 'Was wir sahen'],
    ])
      expect((await importSheet(d, 'a.csv', ...option)).err).toContain(
        'it has no column Was wir sahen\n  → did you mean Was wir sagen?',
      )
    d.file('c.jsonl', '{}\n')
    expect((await importSheet(d, 'c.jsonl', '--map', 'Text=content')).err).toContain(
      'it has no column Text\n  → leave out --map and --ignore-columns: it names no columns',
    )
    // A comma at the end, and a header without letters, name nothing.
    const named = await importSheet(
      d,
      'a.csv',
      '--sender-name',
      'Ann',
      '--draft',
      '--ignore-columns',
      '#,',
      '--map',
      'Was wir sagen=content',
    )
    expect(named.out).toContain('columns read as waswirsagen = content')
    const again = await importSheet(d, 'b.csv', '--sender-name', 'Ann')
    expect([again.exit, again.out]).toEqual([
      0,
      expect.stringContaining('columns read as waswirsagen = content'),
    ])
    // Nobody has said it of this file.
    expect(again.out).toContain('it waits for approval')
    expect(
      (await importSheet(d, 'a.csv', '--sender-name', 'Ann', '--map', 'Was wir sagen=ignored')).out,
    ).toContain('this file was imported as')
  })

  test('by addresses says whose conversation it found, and waits for approval', async ({
    onTestFinished,
  }) => {
    const { d, text, outbox } = await startSheet(onTestFinished)
    const [, row = ''] = text.split('\r\n')
    const [id = '', , email = ''] = row.split(',')
    d.file('addresses.csv', `E-Mail,Antwort\n${email},Guten Tag\n`)
    const { out, exit } = await importSheet(d, 'addresses.csv', '--sender-name', 'Ann')
    expect(exit).toBe(0)
    expect(out).toMatch(
      /found by the visitor's address or name, so the batch waits for approval · row 2 · found/,
    )
    expect(out).toContain(`${email} → ${id}`)
    expect(
      (await outbox.list({}, 9)).map(({ status, conversationId }) => [status, conversationId]),
    ).toEqual([['draft', id]])
  })
})

test('the template needs no conversation', async ({ onTestFinished }) => {
  const d = await startCliScenario(onTestFinished)
  const { out } = await d.run(['writeback', 'sheet', '--template'])
  for (const column of ['ref', 'expect', 'expires_at'])
    expect(out.split('\r\n')[0]).toContain(column)
  expect(out).toContain('the same one is never queued twice')
})
