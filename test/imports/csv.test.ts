/** An import as CSV, from whatever spreadsheet it comes; and what we write as CSV, for whatever spreadsheet reads it. */
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { csvHead, csvRow } from '../../src/imports/csv.ts'
import { csvLine, fromCell, toCell } from '../../src/imports/csv-cells.ts'
import { outcomeColumns, wishColumns } from '../../src/imports/csv-columns.ts'
import { csvRecords, separators } from '../../src/imports/csv-records.ts'
import { textLines } from '../../src/imports/text-lines.ts'
import { anyWish, chunks, conversation, linesOf, told, tricky, visitor } from './wishes.ts'

const csv = (...lines: readonly string[]) => linesOf(lines.join('\n'), 'csv')
const wishes = async (...lines: readonly string[]) =>
  (await csv(...lines)).map(({ read }) => (read.ok ? read.wish : read.why))

describe('reading', () => {
  test('each operation, its columns in any order, with an empty cell for what is left out', async () => {
    const header = 'ref,handled,operation,content,visitor_id,conversation_id,sender_name,name,email,expect,expires_at'
    const found = await wishes(
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
      ...{ ref: 'r-1', expect: '9007199254740993', expiresAt: null },
    })
    expect(handled).toEqual({
      operation: 'handled',
      target: conversation,
      payload: { handled: true },
      ...{ ...none, expiresAt: '2026-01-31T18:00:00Z' },
    })
    expect(note).toEqual({ operation: 'note', target: visitor, payload: { content: 'Paid twice' }, ...none })
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
  ] as const)('cells apart by %j, as a spreadsheet writes them', async ([separator, content, end]) => {
    const rows = [
      ['Operation', ' VISITOR_ID ', '"content"'],
      ['note', visitor, `"${content}"`],
    ]
    const file = `\uFEFF${rows.map((row) => row.join(separator)).join(end)}${end}`
    expect(await linesOf(file)).toMatchObject([{ line: 2, read: { wish: { payload: { content } } } }])
  })

  test('a cell in quotes holds quotes, separators and line ends, and lines are numbered as an editor numbers them', async () => {
    const found = await linesOf(
      ['operation,visitor_id,content', `note,${visitor},"He said ""no"",\r\n\r\nand left"`, `note,${visitor},x`].join(
        '\r\n',
      ),
    )
    expect(found.map(told)).toEqual(['2: note', '5: note'])
    expect(found).toMatchObject([{ read: { wish: { payload: { content: 'He said "no",\r\n\r\nand left' } } } }, {}])
  })

  test.for(['true', 'TRUE', 'Yes', '1', ' true '])('handled is true by %j', async (word) => {
    const found = await wishes('operation,conversation_id,handled', `handled,${conversation},${word}`)
    expect(found).toMatchObject([{ payload: { handled: true } }])
  })

  test.for(['false', 'FALSE', 'no', '0'])('handled is false by %j', async (word) => {
    const found = await wishes('operation,conversation_id,handled', `handled,${conversation},${word}`)
    expect(found).toMatchObject([{ payload: { handled: false } }])
  })

  test.for(['maybe', '2', 'null'])('handled is a mistake by %j', async (word) => {
    const found = await wishes('operation,conversation_id,handled', `handled,${conversation},${word}`)
    expect(found).toEqual([['handled: must be true or false']])
  })

  test('null is nothing and no text, and an apostrophe makes it one', async () => {
    const header = 'operation,visitor_id,name,content'
    expect(await wishes(header, `visitor,${visitor},null,`)).toMatchObject([{ payload: { name: null } }])
    expect(await wishes(header, `visitor,${visitor},'null,`)).toMatchObject([{ payload: { name: 'null' } }])
    expect(await wishes(header, `visitor,${visitor},Null,`)).toMatchObject([{ payload: { name: 'Null' } }])
    expect(await wishes(header, `note,${visitor},,null`)).toEqual([['content: must be a text']])
  })

  test('apostrophes of a person stay, and only one before a formula goes', async () => {
    const names = ["'t Hooft", "''", "d'Arc", "'=1+1", '=1+1', "' -1"]
    const found = await wishes('operation;visitor_id;name', ...names.map((name) => `visitor;${visitor};${name}`))
    const read = ["'t Hooft", "''", "d'Arc", '=1+1', '=1+1', ' -1']
    expect(found).toMatchObject(read.map((name) => ({ payload: { name } })))
  })

  test('rows of empty cells and short rows are what spreadsheets leave behind', async () => {
    const found = await csv(
      'operation,visitor_id,content,ref,',
      ',,,,',
      '',
      `note,${visitor},x`,
      `note,${visitor},y,,,,`,
    )
    expect(found.map(told)).toEqual(['4: note', '5: note'])
  })
})

describe('mistakes', () => {
  const header = 'operation,visitor_id,content'

  test.for<[header: string, mistake: string]>([
    ['operation,visitor_id,text', '1: "text": is no column of an import; those are operation, conversation_id'],
    ['operation,content,Content', '1: content: is there twice'],
    [`note,${visitor},Hello`, '1: "note": is no column of an import'],
    ['visitor_id,content', '1: operation: has no column; the first line must name the columns'],
    ['operation,"content', '1: has a quote that is never closed'],
    ['x'.repeat(1024 * 1024 + 1), '1: is longer than 1 MiB'],
  ])('a broken header is the only mistake of its file: %.40s', async ([first, mistake]) => {
    const found = (await csv(first, `note,${visitor},x`, `note,${visitor},y`)).map(told)
    expect(found).toEqual([expect.stringContaining(mistake)])
  })

  test('a wrong row is a mistake, and the others are read', async () => {
    const found = await csv(
      header,
      `note,${visitor},5" screen`,
      `note,${visitor},"five" inches`,
      `note,${visitor},"one\nline"more\nnote,${visitor},a`,
      `note,${visitor},b,c`,
      `note,nobody,`,
      `note,${visitor},d`,
    )
    const stray = 'has a quote (") in the middle of a cell: put the cell into quotes, and write the quote twice'
    expect(found.map(told)).toEqual([
      `2: ${stray}`,
      `3: ${stray}`,
      `4: ${stray}`,
      '6: note',
      "7: has more cells than the header's 3",
      '8: visitor_id: is no UUID; content: is missing',
      '9: note',
    ])
  })

  test('a quote that is never closed is told where it begins', async () => {
    const found = await csv(header, `note,${visitor},a`, `note,${visitor},"b`, `note,${visitor},c`, `note,${visitor},d`)
    expect(found.map(told)).toEqual(['2: note', '3: has a quote that is never closed'])
  })

  test('a record of many lines may not be longer than 1 MiB either, and the others are read', async () => {
    const long = 'a line of text\n'.repeat(80_000)
    const found = await csv(header, `note,${visitor},"${long}"`, `note,${visitor},"x\ny"`)
    expect(found.map(told)).toEqual(['2: is longer than 1 MiB', '80003: note'])
  })

  test('behind a line that was too long to be held, the next one begins a record', async () => {
    const endless = `${'x'.repeat(1024 * 1024)}"`
    const found = await csv(header, `note,${visitor},"a`, endless, `note,${visitor},b`, endless, `note,${visitor},c`)
    expect(found.map(told)).toEqual(['2: is longer than 1 MiB', '4: note', '5: is longer than 1 MiB', '6: note'])
  })

  test('bytes that are no UTF-8 spoil their own record only', async () => {
    const broken = Buffer.from(`${header}\nnote,${visitor},"a\nGrüße\nb"\nnote,${visitor},c\n`, 'latin1')
    expect((await linesOf(broken)).map(told)).toEqual(['2: is not UTF-8', '5: note'])
  })
})

describe('writing', () => {
  const outcome = { id: 'w-1', status: 'failed', error: '=refused: "content"', attempts: 2, sent_at: null }

  test('every wish is read again from its row, whatever became of it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyWish, { minLength: 1, maxLength: 5 }), async (written) => {
        const file = csvHead + written.map((wish) => csvRow(outcome, wish)).join('')
        const read = await linesOf(file)
        expect(read.map((line) => line.read)).toEqual(written.map((wish) => ({ ok: true, wish })))
      }),
      { numRuns: 300 },
    )
  })

  test('every text is read again from its cell', () => {
    fc.assert(
      fc.property(tricky, (text) => {
        expect(fromCell(toCell(text))).toBe(text)
      }),
      { numRuns: 2_000 },
    )
    expect([toCell(null), fromCell('null'), toCell('null')]).toEqual(['null', null, "'null"])
  })

  test('no cell begins as a formula does, even behind spaces', () => {
    fc.assert(
      fc.property(tricky, (text) => {
        expect(toCell(text)).not.toMatch(/^[\t\r\n]|^\s*[=+\-@＝＋－＠]/)
      }),
      { numRuns: 2_000 },
    )
  })

  test('any cells are read again, whatever they hold', async () => {
    const row = fc.array(tricky, { minLength: 1, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 5 }), async (rows) => {
        // The mark that nobody wants to keep at the start of a file.
        const file = `\uFEFF${rows.map(csvLine).join('')}`
        const records = csvRecords(',')
        const read = (await Array.fromAsync(textLines(chunks(file)))).map((line) => records.take(line)?.cells ?? [])
        expect(read.filter((cells) => cells.length > 0)).toEqual(rows)
        expect(records.end()).toBeNull()
      }),
      { numRuns: 500 },
    )
  })

  test('another reader of CSV reads the same cells', () => {
    fc.assert(
      fc.property(fc.array(anyWish, { minLength: 1, maxLength: 5 }), (written) => {
        const file = csvHead + written.map((wish) => csvRow(outcome, wish)).join('')
        const records: string[][] = parse(file, { bom: true, record_delimiter: '\r\n' })
        expect(records[0]).toEqual([...outcomeColumns, ...wishColumns])
        expect(records.slice(1).map((cells) => cells.slice(0, 5))).toEqual(
          written.map(() => ['w-1', '', 'failed', `'=refused: "content"`, '2']),
        )
        expect(records.slice(1).map((cells) => cells[outcomeColumns.length])).toEqual(
          written.map(({ operation }) => operation),
        )
      }),
    )
  })

  test('any lines at all end in records, whatever separates their cells', async () => {
    const noise = fc.array(fc.constantFrom('"', '""', ',', ';', '\t', 'a', '\r', '\n'), { maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(noise, fc.constantFrom(...separators), async (parts, separator) => {
        const lines = await Array.fromAsync(textLines(chunks(parts.join(''))))
        const records = csvRecords(separator)
        const found = [...lines.map(records.take), records.end()].filter((record) => record !== null)
        const begins = found.map(({ line }) => line)
        expect(begins).toEqual([...new Set(begins)].toSorted((a, b) => a - b))
        expect(begins.every((line) => line >= 1 && line <= lines.length)).toBe(true)
        expect(found.length > 0).toBe(lines.length > 0)
      }),
      { numRuns: 500 },
    )
  })
})
