/**
 * 500 rows with every mess, saved by three programs: what is read, what is refused, and what
 * happens when it is sent.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { importWritebacks } from '../../../src/app/import.ts'
import { checkFile } from '../../../src/imports/enqueue-file.ts'
import { openImportBuffer } from '../../../src/imports/import-buffer.ts'
import { formatRows, type MistakeKind } from '../../../src/imports/mistake-kinds.ts'
import type { WritebackReview } from '../../../src/outbox/core/review/terms.ts'
import { mistakeText } from '../../../src/outbox/core/writeback-request.ts'
import { configOf, projectConfigOf } from '../../mirror/sync/sync-sandbox.ts'
import { createOutboxFixture, type OutboxFixture } from '../../outbox/outbox-fixture.ts'
import { createTempFolder } from '../../support/temp-folder.ts'
import { chunks, emptyLookups, parseAllLines } from '../request-fixtures.ts'
import { excelCsv, programs, type SpreadsheetProgram } from './programs.ts'
import { mistakenRows, mixRows, type SheetWorld, toSheet, validRows } from './sheet.ts'

const someId = (kind: number) => (n: number) =>
  `${String(n).padStart(8, '0')}-0000-4000-8${kind}00-000000000000`
const world: SheetWorld = { conversation: someId(1), visitor: someId(2) }
const now = Date.parse('2026-02-01T12:00:00Z')
const parse = { ignoreColumns: ['owner'] }

async function check(bytes: Uint8Array, mistakesPath: string | null = null) {
  const buffer = await openImportBuffer(chunks(bytes))
  const options = { now, allowDuplicates: false, project: 'shop', onProgress: () => {} }
  const file = { buffer, name: null, parse }
  const mistakesTarget =
    mistakesPath === null ? null : { path: mistakesPath, overwrite: false, kept: [] }
  return checkFile(emptyLookups, file, { ...options, mistakesTarget }).finally(buffer.close)
}

/** As one line, with the values and the rows. */
function summarizeKind({ count, found, foundOthers, rows, ...mistake }: MistakeKind): string {
  const values = found.map(({ value, count: times }) =>
    times === 1 ? value : `${value} ×${times}`,
  )
  const others = foundOthers === 0 ? [] : [`${foundOthers} others`]
  return [
    `${count} ${mistakeText(mistake)}`,
    [...values, ...others].join(', '),
    formatRows(rows, count),
  ].join(' | ')
}

const expectedKinds = ({ show }: SpreadsheetProgram): readonly string[] => [
  '12 visitor_id: is not a UUID | n/a ×7, 4710, 4711, 4712, 4713, 1 others | 125, 129, 133, 137, 141, 145, 149, 153, 157, 161, 165, 169',
  '9 content: is missing |  | 173, 177, 181, 185, 189, 193, 197, 201, 205',
  '8 operation: must be one of message, handled, visitor, note | Reply ×8 | 312, 316, 320, 324, 328, 332, 336, 340',
  `6 content: is the error of a formula | ${show('not available')} ×6 | 209, 213, 217, 221, 225, 229`,
  `6 expires_at: must be a time like 2026-01-31T18:00:00Z | ${show({ time: '2026-01-31T18:00:00Z' })} ×6 | 272, 276, 280, 284, 288, 292`,
  '6 name, email: at least one must be given |  | 408, 412, 416, 420, 424, 428',
  '5 content: was read in the wrong encoding before it was saved: Ã¼ instead of ü | GrÃ¼ÃŸe ×5 | 233, 237, 241, 245, 249',
  `5 handled: is not a field of this operation | ${show(true)} ×5 | 372, 376, 380, 384, 388`,
  `4 ref: is a number that a spreadsheet has shortened, and its last digits are lost; format the column as text before you paste the values | ${shortenedNumbers(show)} | 256, 260, 264, 268`,
  '4 handled: must be yes or no | maybe ×4 | 296, 300, 304, 308',
  '4 content: an earlier row sends the same words to the same conversation | row 2, row 4, row 6, row 8 | 356, 360, 364, 368',
  '4 expires_at: has passed; leave it out, or give a future time | 2020-01-01T00:00:00Z ×4 | 392, 396, 400, 404',
  '4 content: contains control characters or unpaired surrogates | U+000B ×4 | 432, 436, 440, 444',
  '3 ref: an earlier row has the same ref | R-0 in row 2, R-1 in row 4, R-2 in row 6 | 344, 348, 352',
]

/** Four ids that differ in their last digit, which is what gets lost. */
function shortenedNumbers(show: SpreadsheetProgram['show']): string {
  const shown = [0, 1, 2, 3].map((n) => show({ number: `900719925474099${n}` }))
  const counts = [...Map.groupBy(shown, (text) => text)].map(([text, { length }]) => ({
    text,
    length,
  }))
  return counts.map(({ text, length }) => (length === 1 ? text : `${text} ×${length}`)).join(', ')
}

describe.each(programs)('$name', (program) => {
  const [valid, mistaken] = [validRows(world), mistakenRows(world)]
  const bytes = program.save(toSheet(mixRows(valid, mistaken)))

  test('all mistakes are found, by kind, with the values and the rows that the program shows', async () => {
    const report = await check(bytes)
    expect(report).toMatchObject({ outcome: 'mistaken', rows: 500, mistaken: 80 })
    const { kinds } = report as { readonly kinds: readonly MistakeKind[] }
    expect(kinds.map(summarizeKind)).toEqual(expectedKinds(program))
  })

  test('the rows with mistakes come back as a file that the program opens, and which says why', async () => {
    const path = join(createTempFolder(), 'mistakes.csv')
    expect(await check(bytes, path)).toMatchObject({ mistakesFile: path })
    const written = await readFile(path)
    expect(written.subarray(0, 2)).toEqual(
      bytes[1] === 0xfe ? bytes.subarray(0, 2) : Buffer.of(0xef, 0xbb),
    )
    const lines = await parseAllLines(written, parse)
    expect(lines).toHaveLength(80)
    const again = await check(written)
    const { kinds } = again as { readonly kinds: readonly MistakeKind[] }
    // Only mistakes that concern other rows are gone with those.
    const lost = ['an earlier row sends', 'an earlier row has']
    const expected = expectedKinds(program).filter(
      (kind) => !lost.some((text) => kind.includes(text)),
    )
    const withoutRows = (kind: string) => kind.replace(/ \| [^|]*$/, '')
    expect(kinds.map(summarizeKind).map(withoutRows)).toEqual(expected.map(withoutRows))
  })

  test('what is right is read as it was typed', async () => {
    const lines = await parseAllLines(program.save(toSheet(valid)), parse)
    const requests = lines.map(({ result }) => (result.ok ? result.request : result.mistakes))
    expect(requests).toEqual(await readByExcel(valid))
    expect(requests.slice(0, 4)).toMatchObject([
      {
        operation: 'message',
        payload: { content: 'Your order left our warehouse this morning.', sender_name: 'Ann' },
      },
      { operation: 'handled', payload: { handled: true } },
      { payload: { content: 'He said "tomorrow"; we said: today, or Friday.' } },
      { operation: 'handled', payload: { handled: true } },
    ])
    const contents = requests.flatMap((request) =>
      'payload' in request && 'content' in request.payload ? [request.payload.content] : [],
    )
    expect(contents.slice(2, 12)).toEqual([
      'First line\nsecond line\n\n– the third',
      '“Smart quotes”, it’s all right… – and a dash',
      'Prix\u00a0: 5\u202f€\u00a0!',
      '=SUM(A1:A3) is what you typed',
      '+49 30 1234 answers, too',
      '  indented, with a tab\tinside  ',
      'Zażółć gęślą jaźń, 日本語, שלום 👋🏽',
      '\'quoted\' and "quoted"',
      'a;b,c|d',
      'null and void',
    ])
    const corrections = requests.slice(300, 303)
    expect(corrections).toMatchObject([
      { payload: { name: 'Zoë O’Brien 0' } },
      { payload: { email: 'v1@example.com' } },
      { payload: { name: "'t Hooft", email: null } },
    ])
  })
})

async function readByExcel(rows: ReturnType<typeof validRows>) {
  return (await parseAllLines(excelCsv.save(toSheet(rows)), parse)).map(({ result }) =>
    result.ok ? result.request : result.mistakes,
  )
}

describe('sent', () => {
  test('the review before is what happens, row by row, but where the service moved meanwhile', async () => {
    const o = await createOutboxFixture({
      size: { conversations: 120, messagesPerConversation: [1, 2], visitors: 120, calls: 0 },
    })
    const { reviews, report } = await importSheet(o)
    expect(report).toMatchObject({
      outcome: 'queued',
      queued: 146,
      alreadyQueued: 0,
      ignoredColumns: ['Owner'],
    })
    // A visitor writes behind the flag of row 7, and an agent corrects the visitor of row 102.
    o.sandbox.mutate.visitorWrites(o.conversation(2), 'One more thing.')
    o.sandbox.mutate.renameVisitor(o.visitor(1), 'By hand', 'by-hand@example.com')
    await o.push()
    const entries = await o.all()
    expect(countBy(reviews.map(({ outcome }) => outcome))).toEqual({
      would_send: 57,
      would_change: 84,
      already_so: 2,
      not_known: 3,
    })
    expect(countBy(entries.map(({ status }) => status))).toEqual({
      succeeded: 141,
      failed: 3,
      conflict: 2,
    })
    const different = entries.flatMap(({ status, error }, index) => {
      const review = reviews[index]
      return review === undefined || outcomes[review.outcome] === status
        ? []
        : [[review.position, status, error]]
    })
    expect(different).toEqual([
      [7, 'conflict', expect.stringMatching(/^a visitor wrote at /)],
      [102, 'conflict', 'someone changed the email since it was queued'],
    ])
    const written = entries.flatMap(({ payload: { content } }) => content ?? [])
    const sent = o.sandbox
      .ledger()
      .flatMap(({ body }) => (body as { readonly content?: string }).content ?? [])
    expect(sent.toSorted()).toEqual(written.toSorted())
  })
})

function countBy(words: readonly string[]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    [...Map.groupBy(words, (word) => word)].map(([word, { length }]) => [word, length]),
  )
}

/** What happens to a row. */
const outcomes: Readonly<Record<WritebackReview['outcome'], string>> = {
  would_send: 'succeeded',
  would_change: 'succeeded',
  already_so: 'succeeded',
  stands_against: 'conflict',
  not_known: 'failed',
}

/** Rows of each kind, of which the sheet has many. */
const sentRows = [
  [0, 72],
  [200, 220],
  [280, 284],
  [297, 330],
  [363, 380],
] as const
const isSent = (_: unknown, n: number) => sentRows.some(([from, to]) => from <= n && n < to)

async function importSheet(o: OutboxFixture) {
  const reviews: WritebackReview[] = []
  const project = projectConfigOf(o.sandbox)
  const source = {
    source: chunks(excelCsv.save(toSheet(validRows(o).filter(isSent)))),
    name: 'Replies.csv',
    parse,
  }
  const report = await importWritebacks(configOf(o.instance.url!, project), project, source, {
    now: Date.now(),
    createdBy: 'ann',
    expiresAt: null,
    draft: false,
    title: 'Replies',
    note: null,
    allowDuplicates: false,
    mistakesTarget: null,
    onProgress: () => {},
    notify: () => {},
    onReview: async () => {},
    onReviews: async (some) => {
      reviews.push(...some)
    },
  })
  return { reviews, report }
}
