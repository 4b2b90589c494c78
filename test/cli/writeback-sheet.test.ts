/** From the list of who waits to a sheet, its replies, and back, as a head of support goes by the command line. */
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
  const d = await startCliScenario(atEnd, { size: { conversations: 90, visitors: 90, calls: 1, days: 1 } })
  const { projectId, baseUrl } = d.service
  const project = defaultProject({ name: 'main', projectId, baseUrl: new URL(baseUrl), apiKey: secret('x') })
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
  test('is imported as it is, filled in parts, and never queues a reply twice', async ({ onTestFinished }) => {
    const { d, text, outbox } = await startSheet(onTestFinished)
    expect((await importSheet(d, 'waiting.csv')).out).toMatch(
      /^queued nothing\n\d+ rows without a reply or a flag skipped/,
    )

    const first = fill(text, (row) => (row === 1 ? `Reply ${row},yes,Ann,,` : ',,,,'))
    d.file('first.csv', first)
    const done = await d.ask('writeback', 'import', 'first.csv', '--quiet', '--draft')
    expect(done.document).toMatchObject({ outcome: 'draft', queued: 2, known: 0 })
    expect(done.document.review.groups.map(({ action }: { action: string }) => action).sort()).toEqual([
      'mark_handled',
      'reply',
    ])

    const more = fill(text, (row) => `Reply ${row},${row === 1 ? 'yes' : ''},Ann,,`)
    d.file('more.csv', `${more.split('\r\n').toReversed().slice(0, -1).join('\r\n')}`.replace(/^\r\n/, ''))
    // The header was sorted away, so the file has none.
    expect((await importSheet(d, 'more.csv')).exit).toBe(2)
    const [head = '', ...rows] = more.split('\r\n')
    d.file(
      'more.csv',
      [
        `${head},Notes`,
        ...rows
          .filter((row) => row !== '')
          .toReversed()
          .map((row) => `${row},mine`),
      ].join('\r\n'),
    )
    const second = await d.ask('writeback', 'import', 'more.csv', '--quiet', '--draft', '--map', 'Notes=ignored')
    expect(second.document).toMatchObject({ known: 2, differing: 0, columns: { notes: 'ignored' } })
    const entries = await outbox.list({}, 1000)
    const replies = entries.filter(({ operation }) => operation === 'message')
    expect(new Set(replies.map(({ conversationId }) => conversationId)).size).toBe(replies.length)
    expect(replies.every(({ expect: seen }) => seen !== null)).toBe(true)
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
    const corrected = readFileSync(join(d.folder, 'mistakes.csv'), 'utf8').replace('#REF!', 'Right.')
    expect(corrected.split('\r\n')[1]).toMatch(/^3,/)

    d.file('filled.csv', filled.replace('#REF!', 'Right.'))
    const { out } = await importSheet(d, 'filled.csv', '--dry-run', '--all')
    expect(out).toMatch(/^ +2 .*reply/m)
    expect(out).toMatch(/^ +2 .*(mark handled|is so already|handled)/m)
    expect(out).toMatch(/^ +3 .*Right/m)
    await importSheet(d, 'filled.csv', '--draft')
    const entries = await outbox.list({}, 3)
    expect(entries.map(({ operation, sourceRow }) => `${sourceRow} ${operation}`)).toEqual([
      '2 message',
      '2 handled',
      '3 message',
    ])
    expect((await d.run(['writeback', 'show', entries[2]?.id ?? ''])).out).toMatch(/row of its file +3/)
  })

  test('has names of its own for columns, which are asked for once', async ({ onTestFinished }) => {
    const { d } = await startSheet(onTestFinished)
    const sheet = (n: number) => `conversation_id;Was wir sagen\n${d.conversation(n)};Guten Tag ${n}\n`
    d.file('a.csv', sheet(0))
    d.file('b.csv', sheet(1))
    expect((await importSheet(d, 'a.csv', '--sender-name', 'Ann')).err).toContain('Was wir sagen: unknown column')
    const named = await importSheet(d, 'a.csv', '--sender-name', 'Ann', '--draft', '--map', 'Was wir sagen=content')
    expect(named.out).toContain('columns read as waswirsagen = content')
    const again = await importSheet(d, 'b.csv', '--sender-name', 'Ann', '--draft')
    expect([again.exit, again.out]).toEqual([0, expect.stringContaining('columns read as waswirsagen = content')])
    expect((await importSheet(d, 'a.csv', '--sender-name', 'Ann', '--map', 'Was wir sagen=ignored')).out).toContain(
      'this file was imported as',
    )
  })

  test('by addresses says whose conversation it found, and waits for approval', async ({ onTestFinished }) => {
    const { d, text, outbox } = await startSheet(onTestFinished)
    const [, row = ''] = text.split('\r\n')
    const [id = '', , email = ''] = row.split(',')
    d.file('addresses.csv', `E-Mail,Antwort\n${email},Guten Tag\n`)
    const { out, exit } = await importSheet(d, 'addresses.csv', '--sender-name', 'Ann')
    expect(exit).toBe(0)
    expect(out).toMatch(/found by the visitor's address or name, so the batch waits for approval · row 2 · found/)
    expect(out).toContain(`${email} → ${id}`)
    expect((await outbox.list({}, 9)).map(({ status, conversationId }) => [status, conversationId])).toEqual([
      ['draft', id],
    ])
  })
})

test('the template needs no conversation', async ({ onTestFinished }) => {
  const d = await startCliScenario(onTestFinished)
  const { out } = await d.run(['writeback', 'sheet', '--template'])
  for (const column of ['ref', 'expect', 'expires_at']) expect(out.split('\r\n')[0]).toContain(column)
  expect(out).toContain('A row with the same ref is queued once')
})
