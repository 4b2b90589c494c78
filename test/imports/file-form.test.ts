/**
 * How a file is written is found out from its beginning: encodings, line ends, and files that are
 * not text.
 */
import { describe, expect, test } from 'vitest'
import { detectFileForm } from '../../src/imports/file-form.ts'
import { parseLines } from '../../src/imports/parse-lines.ts'
import { chunks, parseAllLines, summarizeLine, visitor } from './request-fixtures.ts'

const content = 'Grüße, “Zoë” 👋🏽\nzweite Zeile'
const file = (separator: string, lineEnd = '\r\n') =>
  [
    ['operation', 'visitor_id', 'content'],
    ['note', visitor, `"${content}"`],
  ]
    .map((cells) => `${cells.join(separator)}${lineEnd}`)
    .join('')

const toUtf16be = (text: string) => Buffer.from(text, 'utf16le').swap16()
const expected = [{ row: 2, result: { ok: true, request: { payload: { content } } } }]

describe('an encoding', () => {
  test.for<[string, Uint8Array]>([
    ['UTF-8', Buffer.from(file(','))],
    ['UTF-8 with a byte order mark', Buffer.from(`\uFEFF${file(';')}`)],
    ['UTF-16LE, as Excel saves "Unicode text"', Buffer.from(`\uFEFF${file('\t')}`, 'utf16le')],
    ['UTF-16BE', toUtf16be(`\uFEFF${file(',')}`)],
    ['UTF-16LE without a byte order mark', Buffer.from(file(','), 'utf16le')],
    ['UTF-16BE without a byte order mark', toUtf16be(file(','))],
  ])('%s', async ([, bytes]) => {
    expect(await parseAllLines(bytes)).toMatchObject(expected)
    const single = [...bytes].map((byte) => Uint8Array.of(byte))
    expect(await Array.fromAsync(parseLines(chunks(...single), detectFileForm(bytes)))).toEqual(
      await parseAllLines(bytes),
    )
  })

  test('JSON Lines may be UTF-16, too', async () => {
    const line = JSON.stringify({ operation: 'note', visitor_id: visitor, content })
    expect(await parseAllLines(Buffer.from(`${line}\r\n`, 'utf16le'))).toMatchObject([
      { ...expected[0], row: 1 },
    ])
  })

  test('half a character of UTF-16 affects only its own row', async () => {
    const rows = [
      'operation\tvisitor_id\tcontent',
      ...['a', '\ud83d', 'b'].map((text) => `note\t${visitor}\t${text}`),
    ]
    const bytes = Buffer.concat([
      Buffer.from(`\uFEFF${rows.join('\r\n')}\r\n`, 'utf16le'),
      Buffer.of(0x41),
    ])
    expect((await parseAllLines(bytes)).map(summarizeLine)).toEqual([
      '2: note',
      '3: is not UTF-8; save the file as "CSV UTF-8"',
      '4: note',
      expect.stringMatching(/^5: is not UTF-8/),
    ])
  })

  test('one that is not Unicode has to be named, and a person sees whether the guess is right', async () => {
    const bytes = Buffer.from(
      `operation;visitor_id;content\r\nnote;${visitor};Grüße aus Köln\r\n`,
      'latin1',
    )
    const [line] = await parseAllLines(bytes)
    expect(line?.result).toMatchObject({
      ok: false,
      mistakes: [{ found: 'Grüße', override: 'encoding' }],
    })
    expect(await parseAllLines(bytes, { encoding: 'windows-1252' })).toMatchObject([
      { result: { request: { payload: { content: 'Grüße aus Köln' } } } },
    ])
    expect((await parseAllLines(bytes, { encoding: 'shift_jis' })).map(summarizeLine)).toEqual([
      '2: is not shift_jis',
    ])
  })
})

describe('line ends', () => {
  test.for(['\n', '\r\n', '\r'])('%j', async (lineEnd) => {
    expect(await parseAllLines(file(',', lineEnd))).toMatchObject(expected)
  })
})

describe('the separator', () => {
  test.for([
    ['operation,visitor_id,content', ','],
    ['operation;visitor_id;"a, b, c, d"', ';'],
    ['operation\tvisitor_id', '\t'],
    ['operation|visitor_id', '|'],
    ['sep=;\r\noperation,content;x', ';'],
    ['"sep=\t"\noperation', '\t'],
    ['operation', ','],
    ['\uFEFF\n\n"Visitor\nID";operation', ';'],
  ])('of %j is %j', ([head = '', separator]) => {
    expect(detectFileForm(Buffer.from(head)).separator).toBe(separator)
  })
})

describe('a file that is not text', () => {
  test.for<[string, Uint8Array | string]>([
    [
      'a workbook with a password, or of Excel 97–2003 (.xls)',
      Buffer.of(0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1),
    ],
    ['a PDF', '%PDF-1.7'],
    ['a text with formatting (RTF)', '{\\rtf1\\ansi'],
    ['not a text', Buffer.from('\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR', 'latin1')],
    ['compressed (gzip)', Buffer.of(0x1f, 0x8b, 8, 0)],
    ['a web page or XML', '\uFEFF  <!DOCTYPE html><title>Sign in</title>'],
    ['a web page or XML', '<?xml version="1.0"?><Workbook>'],
  ])('is refused with what it is: %s', async ([what, bytes]) => {
    await expect(parseAllLines(Buffer.from(bytes as string))).rejects.toMatchObject({
      what: 'cannot import the file',
      why: `it is ${what}`,
      next: expect.stringMatching(
        /^save it as an Excel workbook \(\.xlsx\) without a password, or as CSV/,
      ),
      exitCode: 2,
    })
  })
})
