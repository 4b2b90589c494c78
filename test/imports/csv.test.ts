/** CSV imports from any spreadsheet, and CSV exports for any spreadsheet. */
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { restoreWithin, toCsvLine } from '../../src/export/writers/csv-writer.ts'
import { csvHeader, fromCsvCell, toCsvCell, toCsvRow } from '../../src/imports/csv-cells.ts'
import { outcomeColumns, requestColumns } from '../../src/imports/csv-header-words.ts'
import { readRecords, readTextLines } from '../../src/imports/csv-records.ts'
import { csvSeparators, detectFileForm } from '../../src/imports/file-form.ts'
import { parseLines } from '../../src/imports/parse-lines.ts'
import { mistakeText } from '../../src/outbox/core/writeback-request.ts'
import {
  anyRequest,
  chunks,
  conversation,
  parseAllLines,
  summarizeLine,
  trickyText,
  visitor,
} from './request-fixtures.ts'

const utf8 = { encoding: 'utf-8', lineEnd: 'lf' } as const
const parseCsv = (...lines: readonly string[]) => parseAllLines(lines.join('\n'), 'csv')
const parseRequests = async (...lines: readonly string[]) =>
  (await parseCsv(...lines)).map(({ result }) =>
    result.ok ? result.request : result.mistakes.map(mistakeText),
  )

describe('reading', () => {
  test('each operation, with columns in any order and empty cells for absent fields', async () => {
    const header =
      'ref,handled,operation,content,visitor_id,conversation_id,sender_name,name,email,expect,expires_at'
    const found = await parseRequests(
      header,
      `r-1,,message,On its way,,${conversation},Ann,,,9007199254740993,`,
      `,true,handled,,,${conversation},,,,,2026-01-31T18:00:00Z`,
      `,,note,Paid twice,${visitor},,,,,,`,
      `,,visitor,,${visitor},,,Zoë,null,,`,
    )
    const none = { ref: null, expect: null, expiresAt: null }
    const [message, handled, note, correction] = found
    expect(message).toEqual({
      operation: 'message',
      target: conversation,
      payload: { content: 'On its way', sender_name: 'Ann' },
      ref: 'r-1',
      expect: '9007199254740993',
      expiresAt: null,
    })
    expect(handled).toEqual({
      operation: 'handled',
      target: conversation,
      payload: { handled: true },
      ...none,
      expiresAt: '2026-01-31T18:00:00Z',
    })
    expect(note).toEqual({
      operation: 'note',
      target: visitor,
      payload: { content: 'Paid twice' },
      ...none,
    })
    expect(correction).toEqual({
      operation: 'visitor',
      target: visitor,
      payload: { name: 'Zoë', email: null },
      ...none,
    })
  })

  test.for([
    [',', ',', '\n'],
    [';', 'a, b', '\r\n'],
    ['\t', 'a; b, c', '\r\n'],
  ] as const)('cells separated by %j', async ([separator, content, end]) => {
    const rows = [
      ['Operation', ' VISITOR_ID ', '"content"'],
      ['note', visitor, `"${content}"`],
    ]
    const file = `\uFEFF${rows.map((row) => row.join(separator)).join(end)}${end}`
    expect(await parseAllLines(file)).toMatchObject([
      { line: 2, result: { request: { payload: { content } } } },
    ])
  })

  test.for([',', ';'])(
    'a quote that is not closed does not make a text of the rows below it (%s)',
    async (separator) => {
      const file = [
        'operation,conversation_id,content,sender_name',
        `message,${conversation},"5 inches are fine,Ann`,
        `message,${visitor},Words for someone else,Ann`,
        `message,${visitor},as in the "manual","Ann"`,
        `message,${visitor},"Two lines,\nwith ${visitor}, and text",Ann`,
      ].map((line) => line.replaceAll(',', separator))
      const [swallowing, sound] = await parseRequests(...file)
      expect(swallowing).toContainEqual(expect.stringMatching(/^has other rows in a cell/))
      expect(sound).toMatchObject({ operation: 'message' })
    },
  )

  test('a quoted cell may contain quotes, separators and line ends, and lines are numbered as in an editor', async () => {
    const found = await parseAllLines(
      [
        'operation,visitor_id,content',
        `note,${visitor},"He said ""no"",\r\n\r\nand left"`,
        `note,${visitor},x`,
      ].join('\r\n'),
    )
    expect(found.map(summarizeLine)).toEqual(['2: note', '5: note'])
    expect(found).toMatchObject([
      { result: { request: { payload: { content: 'He said "no",\r\n\r\nand left' } } } },
      {},
    ])
  })

  test.for(['true', 'TRUE', 'Yes', '1', ' true '])('handled is true for %j', async (word) => {
    const found = await parseRequests(
      'operation,conversation_id,handled',
      `handled,${conversation},${word}`,
    )
    expect(found).toMatchObject([{ payload: { handled: true } }])
  })

  test.for(['false', 'FALSE', 'no', '0'])('handled is false for %j', async (word) => {
    const found = await parseRequests(
      'operation,conversation_id,handled',
      `handled,${conversation},${word}`,
    )
    expect(found).toMatchObject([{ payload: { handled: false } }])
  })

  test.for(['maybe', '2', 'null'])('handled is a mistake for %j', async (word) => {
    const found = await parseRequests(
      'operation,conversation_id,handled',
      `handled,${conversation},${word}`,
    )
    expect(found).toEqual([['handled: must be yes or no']])
  })

  test('null means no value, and an apostrophe makes it text', async () => {
    const header = 'operation,visitor_id,name,content'
    expect(await parseRequests(header, `visitor,${visitor},null,`)).toMatchObject([
      { payload: { name: null } },
    ])
    expect(await parseRequests(header, `visitor,${visitor},'null,`)).toMatchObject([
      { payload: { name: 'null' } },
    ])
    expect(await parseRequests(header, `visitor,${visitor},Null,`)).toMatchObject([
      { payload: { name: 'Null' } },
    ])
    expect(await parseRequests(header, `note,${visitor},,null`)).toEqual([
      ['content: must be text'],
    ])
  })

  test('apostrophes stay, except one before a formula', async () => {
    const names = ["'t Hooft", "''", "d'Arc", "'=1+1", '=1+1', "' -1"]
    const found = await parseRequests(
      'operation;visitor_id;name',
      ...names.map((name) => `visitor;${visitor};${name}`),
    )
    const read = ["'t Hooft", "''", "d'Arc", '=1+1', '=1+1', '-1']
    expect(found).toMatchObject(read.map((name) => ({ payload: { name } })))
  })

  test('rows of empty cells are skipped and short rows are accepted', async () => {
    const found = await parseCsv(
      'operation,visitor_id,content,ref,',
      ',,,,',
      '',
      `note,${visitor},x`,
      `note,${visitor},y,,,,`,
    )
    expect(found.map(summarizeLine)).toEqual(['4: note', '5: note'])
  })
})

describe('mistakes', () => {
  const header = 'operation,visitor_id,content'

  test.for<[header: string, mistake: string]>([
    ['operation,visitor_id,text', '1: text: unknown column'],
    ['operation,visitor_id,Contents', '1: Contents: unknown column; did you mean content?'],
    ['operation,content,Content', '1: content: appears twice'],
    [
      `note,${visitor},Hello`,
      '1: does not name the columns; the first row must have names like operation, conver',
    ],
    ['ann@example.com,We replied to your email', '1: does not name the columns'],
    ['visitor_id,content', '1: operation: column is missing; replies need none if the columns'],
    ['operation,"content', '1: has an unclosed quote'],
    [`operation${',x'.repeat(1_000)}`, '1: has more than 1000 columns'],
    ['x'.repeat(1024 * 1024 + 1), '1: is longer than 1 MiB'],
  ])('an invalid header is the only mistake of its file: %.40s', async ([first, mistake]) => {
    const found = (await parseCsv(first, `note,${visitor},x`, `note,${visitor},y`)).map(
      summarizeLine,
    )
    expect(found).toEqual([expect.stringContaining(mistake)])
  })

  test('an invalid row is a mistake, and the others are read', async () => {
    const found = await parseCsv(
      header,
      `note,${visitor},5" screen`,
      `note,${visitor},"five" inches`,
      `note,${visitor},"one\nline"more\nnote,${visitor},a`,
      `note,${visitor},b,c`,
      `note,nobody,`,
      `note,${visitor},d`,
    )
    const stray =
      'has a quote (") in the middle of a cell: enclose the cell in quotes and double the quote'
    expect(found.map(summarizeLine)).toEqual([
      `2: ${stray}`,
      `3: ${stray}`,
      `4: ${stray}`,
      '6: note',
      '7: has a value in a column without a name: is a separator in a text, without quotes around it?',
      '8: visitor_id: is not a UUID; content: is missing',
      '9: note',
    ])
  })

  test('an unclosed quote is reported where it begins', async () => {
    const found = await parseCsv(
      header,
      `note,${visitor},a`,
      `note,${visitor},"b`,
      `note,${visitor},c`,
      `note,${visitor},d`,
    )
    expect(found.map(summarizeLine)).toEqual([
      '2: note',
      '3: has an unclosed quote, so everything below belongs to this row',
    ])
  })

  test('behind a quote that is open for 8 MiB nothing more is read', async () => {
    let chunksRead = 0
    const head = Buffer.from('operation,visitor_id,content\nnote,v1,"open ')
    async function* file() {
      yield head
      for (; chunksRead < 64; chunksRead += 1)
        yield Buffer.from(`${'x'.repeat(1023)}\n`.repeat(1024))
    }
    expect(
      (await Array.fromAsync(parseLines(file(), detectFileForm(head)))).map(summarizeLine),
    ).toEqual(['2: is longer than 1 MiB'])
    expect(chunksRead).toBeLessThan(12)
  })

  test('a record of many lines may not exceed 1 MiB, and the others are read', async () => {
    const long = 'a line of text\n'.repeat(80_000)
    const found = await parseCsv(header, `note,${visitor},"${long}"`, `note,${visitor},"x\ny"`)
    expect(found.map(summarizeLine)).toEqual(['2: is longer than 1 MiB', '80003: note'])
  })

  test('after a line that is too long, the next line begins a record', async () => {
    const endless = `${'x'.repeat(1024 * 1024)}"`
    const found = await parseCsv(
      header,
      `note,${visitor},"a`,
      endless,
      `note,${visitor},b`,
      endless,
      `note,${visitor},c`,
    )
    expect(found.map(summarizeLine)).toEqual([
      '2: is longer than 1 MiB',
      '4: note',
      '5: is longer than 1 MiB',
      '6: note',
    ])
  })

  test('invalid UTF-8 affects only its own record', async () => {
    const broken = Buffer.from(
      `${header}\nnote,${visitor},"a\nGrüße\nb"\nnote,${visitor},c\n`,
      'latin1',
    )
    expect((await parseAllLines(broken)).map(summarizeLine)).toEqual([
      '2: is not UTF-8; save the file as "CSV UTF-8"',
      '5: note',
    ])
  })
})

describe('writing', () => {
  const outcome = {
    id: 'w-1',
    status: 'failed',
    error: '=refused: "content"',
    attempts: 2,
    sent_at: null,
  }

  test('every request can be read back from its row, whatever its outcome', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyRequest, { minLength: 1, maxLength: 5 }), async (written) => {
        const file = csvHeader + written.map((request) => toCsvRow(outcome, request)).join('')
        const read = await parseAllLines(file)
        expect(read.map((line) => line.result)).toEqual(
          written.map((request) => ({ ok: true, request })),
        )
      }),
      { numRuns: 300 },
    )
  })

  test('every text can be read back from its cell', () => {
    fc.assert(
      fc.property(trickyText, (text) => {
        expect(fromCsvCell(restoreWithin(toCsvCell(text)))).toBe(text)
      }),
      { numRuns: 2_000 },
    )
    expect([toCsvCell(null), fromCsvCell('null'), toCsvCell('null')]).toEqual([
      'null',
      null,
      "'null",
    ])
  })

  test('no cell begins like a formula, even after spaces', () => {
    fc.assert(
      fc.property(trickyText, (text) => {
        expect(toCsvCell(text)).not.toMatch(/^[\t\r\n]|^\s*[=+\-@＝＋－＠]/)
      }),
      { numRuns: 2_000 },
    )
  })

  test('all cells can be read back, whatever they contain', async () => {
    const row = fc.array(trickyText, { minLength: 1, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 5 }), async (rows) => {
        // A BOM at the start of a file is dropped.
        const file = `\uFEFF${rows.map(toCsvLine).join('')}`
        const records = readRecords(readTextLines(chunks(file), utf8), {
          separator: ',',
          hasSeparatorLine: false,
        })
        const read = await Array.fromAsync(records)
        expect(read.map(({ cells }) => cells)).toEqual(rows)
        expect(read.filter(({ mistake }) => mistake !== null)).toEqual([])
      }),
      { numRuns: 500 },
    )
  })

  test('another CSV parser reads the same cells', () => {
    fc.assert(
      fc.property(fc.array(anyRequest, { minLength: 1, maxLength: 5 }), (written) => {
        const file = csvHeader + written.map((request) => toCsvRow(outcome, request)).join('')
        const records: string[][] = parse(file, { bom: true, record_delimiter: '\r\n' })
        expect(records[0]).toEqual([...outcomeColumns, ...requestColumns])
        expect(records.slice(1).map((cells) => cells.slice(0, 5))).toEqual(
          written.map(() => ['w-1', '', 'failed', `'=refused: "content"`, '2']),
        )
        expect(records.slice(1).map((cells) => cells[outcomeColumns.length])).toEqual(
          written.map(({ operation }) => operation),
        )
      }),
    )
  })

  test('arbitrary lines become records, whatever the separator', async () => {
    const noise = fc.array(fc.constantFrom('"', '""', ',', ';', '\t', 'a', '\r', '\n'), {
      maxLength: 40,
    })
    await fc.assert(
      fc.asyncProperty(noise, fc.constantFrom(...csvSeparators), async (parts, separator) => {
        const read = () => readTextLines(chunks(parts.join('')), utf8)
        const lines = await Array.fromAsync(read())
        const found = await Array.fromAsync(
          readRecords(read(), { separator, hasSeparatorLine: false }),
        )
        const begins = found.map(({ line }) => line)
        expect(begins).toEqual([...new Set(begins)].toSorted((a, b) => a - b))
        expect(begins.every((line) => line >= 1 && line <= lines.length)).toBe(true)
        expect(found.length > 0).toBe(lines.length > 0)
      }),
      { numRuns: 500 },
    )
  })
})
