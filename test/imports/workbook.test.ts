/**
 * Workbooks as people fill them: one that openpyxl made and LibreOffice saved, some written by hand
 * with what Excel writes besides, those that a sheet or a file of mistakes is, and hostile ones.
 */
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { strToU8, unzipSync, zipSync } from 'fflate'
import { describe, expect, test } from 'vitest'
import { checkFile } from '../../src/imports/enqueue-file.ts'
import { openImportBuffer } from '../../src/imports/import-buffer.ts'
import { readImportLines, withImportFile } from '../../src/imports/open-file.ts'
import {
  createSheetWriter,
  downloadedColumns,
  toSheetCells,
} from '../../src/imports/reply-sheet.ts'
import { toCsv } from '../../src/imports/workbook.ts'
import { mistakeText } from '../../src/outbox/core/writeback-request.ts'
import { createMemoryOutput } from '../export/export-world.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { emptyLookups, trickyText } from './request-fixtures.ts'

const saved = join(import.meta.dirname, 'workbooks/libreoffice.xlsx')
const id = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

/** By row: the request, or what is wrong. */
async function readRows(source: string | Uint8Array, name = 'replies.xlsx') {
  const given =
    typeof source === 'string'
      ? source
      : (async function* () {
          yield source
        })()
  return withImportFile({ source: given, name, parse: {} }, async (file) => {
    const lines = await Array.fromAsync(readImportLines(file))
    return lines.map(({ row, result }) => {
      if (!result.ok)
        return [row, ...result.mistakes.map((found) => `${mistakeText(found)}: ${found.found}`)]
      const { target, operation, payload } = result.request
      return [row, target, operation, 'content' in payload ? payload.content : payload]
    })
  })
}

describe('a workbook that LibreOffice saved', () => {
  const rows = [
    [2, id(1), 'message', 'Hello, "Zoë";\nsecond line – 😀'],
    [2, id(1), 'handled', { handled: true }],
    // A formula is its result, and hidden rows are rows.
    [4, id(2), 'message', 'Dear Zoë'],
    [5, id(3), 'message', 'Hidden.'],
    // A date of a spreadsheet has no zone.
    [6, expect.stringMatching(/^expires_at: must be a time .*: 2030-01-31T18:00:00$/)],
    [7, 'content: is the error of a formula: #DIV/0!'],
    [
      8,
      expect.stringMatching(
        /^ref: is a number that a spreadsheet has shortened.*: 1\.23456789012346E\+18$/,
      ),
    ],
    [9, id(7), 'message', '12.5'],
    [9, id(7), 'handled', { handled: true }],
  ]

  test('is read as it is: the visible sheet with known columns, with its row numbers', async () => {
    expect(await readRows(saved)).toEqual(rows)
  })

  test('is known by its first bytes, whatever its name, and so is CSV', async () => {
    const folder = createTempFolder()
    await copyFile(saved, join(folder, 'replies.csv'))
    expect(await readRows(join(folder, 'replies.csv'))).toEqual(rows)
    await writeFile(
      join(folder, 'a.xlsx'),
      `conversation_id,content,sender_name\n${id(1)},Hi,Ann\n`,
    )
    expect(await readRows(join(folder, 'a.xlsx'))).toEqual([[2, id(1), 'message', 'Hi']])
  })

  test('has the same digest when it is saved again without a change', async () => {
    const parts = unzipSync(await readFile(saved))
    const again = join(createTempFolder(), 'again.xlsx')
    await writeFile(again, zipSync(parts, { level: 0 }))
    const [first, second] = await Promise.all([saved, again].map((path) => openImportBuffer(path)))
    expect(second?.digest).toBe(first?.digest)
    await Promise.all([first?.close(), second?.close()])
  })

  test('gives the rows with mistakes back as a workbook, which is imported when it is corrected', async () => {
    const path = join(createTempFolder(), 'mistakes.xlsx')
    await withImportFile({ source: saved, name: saved, parse: {} }, (file) =>
      checkFile(emptyLookups, file, {
        now: 0,
        allowDuplicates: false,
        project: 'shop',
        onProgress: () => {},
        mistakesTarget: { path, overwrite: false, kept: [] },
      }),
    )
    const csv = Buffer.from(await toCsv(await readFile(path))).toString()
    expect(csv.split('\n')[0]).toBe(
      '"row","mistake","conversation_id","content","handled","sender_name","expires_at","ref"',
    )
    expect(csv).toMatch(/"7","content: is the error of a formula","[^"]*5","#DIV\/0!"/)
    const corrected = csv.replace('#DIV/0!', 'Right.')
    expect(await readRows(Buffer.from(corrected))).toContainEqual([3, id(5), 'message', 'Right.'])
  })
})

const main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
const relationships = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'

/** `sheets`: the rows of each, as XML. */
function workbook(
  sheets: Readonly<Record<string, string>>,
  { strings = '', properties = '', more = {} as Record<string, Uint8Array> } = {},
): Uint8Array {
  const names = Object.keys(sheets)
  const relation = (n: number, type: string, target: string) =>
    `<Relationship Id="rId${n}" Type="${relationships}/${type}" Target="${target}"/>`
  const relations = (list: readonly string[]) =>
    strToU8(
      `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${list.join('')}</Relationships>`,
    )
  const listed = names.map(
    (name, n) => `<sheet name="${name}" sheetId="${n + 1}" r:id="rId${n + 1}"/>`,
  )
  const parts = {
    '[Content_Types].xml': strToU8(
      '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>',
    ),
    '_rels/.rels': relations([relation(1, 'officeDocument', 'xl/workbook.xml')]),
    'xl/workbook.xml': strToU8(
      `<workbook ${main} xmlns:r="${relationships}">${properties}<sheets>${listed.join('')}</sheets></workbook>`,
    ),
    'xl/_rels/workbook.xml.rels': relations([
      ...names.map((_, n) => relation(n + 1, 'worksheet', `worksheets/sheet${n + 1}.xml`)),
      relation(98, 'sharedStrings', 'sharedStrings.xml'),
      relation(99, 'styles', 'styles.xml'),
    ]),
    'xl/sharedStrings.xml': strToU8(`<sst ${main}>${strings}</sst>`),
    'xl/styles.xml': strToU8(
      `<styleSheet ${main}><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="22"/></cellXfs></styleSheet>`,
    ),
    ...Object.fromEntries(
      Object.values(sheets).map((rows, n) => [
        `xl/worksheets/sheet${n + 1}.xml`,
        strToU8(`<worksheet ${main}><sheetData>${rows}</sheetData></worksheet>`),
      ]),
    ),
    ...more,
  }
  return zipSync(parts)
}

const text = (cell: string) => `<c t="inlineStr"><is><t xml:space="preserve">${cell}</t></is></c>`
const row = (...cells: readonly string[]) => `<row>${cells.map(text).join('')}</row>`
const csvOf = async (bytes: Uint8Array) => Buffer.from(await toCsv(bytes)).toString()

test('what Excel writes is read: rich texts, readings, line ends, errors, dates since 1904', async () => {
  const strings = [
    '<si><r><t>Hello </t></r><r><rPr><b/></rPr><t xml:space="preserve">bold </t></r><r><t>you</t></r></si>',
    '<si><t>東京</t><rPh sb="0" eb="2"><t>トウキョウ</t></rPh></si>',
    '<si><t>a_x000D_\nb &amp; &lt;c&gt; _x005F_x0041_</t></si>',
  ].join('')
  const rows =
    '<row r="2"><c r="A2" t="s"><v>0</v></c><c r="C2" t="s"><v>1</v></c><c r="D2" t="s"><v>2</v></c></row>' +
    '<row r="4" hidden="1"><c r="A4" t="e"><f>1/0</f><v>#DIV/0!</v></c><c r="B4" t="b"><v>1</v></c>' +
    '<c r="C4" s="1"><v>0.5</v></c><c r="D4"><v>0.30000000000000004</v></c><c r="E4"><v>9007199254740993</v></c>' +
    '<c r="F4" s="1"><v>1</v></c></row>'
  const properties = '<workbookPr date1904="1"/>'
  expect(await csvOf(workbook({ A: rows }, { strings, properties }))).toBe(
    '\n"Hello bold you",,"東京","a\nb & <c> _x0041_"\n\n' +
      '"#DIV/0!","true","1904-01-01T12:00:00","0.3","9.00719925474099E+15","1904-01-02"\n',
  )
})

test('entities are not expanded, and no other file is read', async () => {
  const hostile = strToU8(
    `<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname"><!ENTITY b "&a;&a;">]><worksheet ${main}><sheetData>${row('&a;&b;')}</sheetData></worksheet>`,
  )
  const bytes = workbook({ A: '' }, { more: { 'xl/worksheets/sheet1.xml': hostile } })
  expect(await csvOf(bytes)).toBe('"&a;&b;"\n')
})

test('a downloaded sheet is text only, and read as CSV is: the same words, the same conversation', async () => {
  const texts = fc.sample(trickyText, { numRuns: 200, seed: 1 })
  const columns = downloadedColumns({})
  const rows = [
    '=cmd()',
    "'=1",
    "'null",
    'NULL',
    '1E+5',
    '_x0041_',
    '#REF!',
    'x'.repeat(40_000),
    ...texts,
  ].map((words, n) => {
    const about = { id: id(n), name: words, email: words, lastWords: words }
    const row = { ...about, waitingSince: null, lastMessageId: '90071992547409931' }
    return toSheetCells(row, columns)
  })
  const filled: Readonly<Record<string, string>> = { content: 'Hello.', sender_name: 'Ann' }
  const fill = (cells: readonly (string | null)[]) =>
    cells.map((cell, n) => filled[columns[n] ?? ''] ?? cell)
  const files = (['csv', 'xlsx'] as const).map(async (format) => {
    const output = createMemoryOutput()
    const writer = createSheetWriter(columns, output, { format, separator: ';' })
    await writer.write(rows.map(fill))
    await writer.end()
    return output.bytes()
  })
  const [csv, xlsx] = await Promise.all(files)
  const sheet = Buffer.from(unzipSync(xlsx!)['xl/worksheets/sheet1.xml']!).toString()
  expect(sheet).not.toMatch(/<f>|<v>/)
  expect(sheet).toContain('<t>=cmd()</t>')
  expect(sheet).toContain('<t>90071992547409931</t>')
  // What a person writes into an empty cell stays text, too.
  expect(sheet).toContain('<c r="G2" s="1"/>')
  expect(Buffer.from(unzipSync(xlsx!)['xl/styles.xml']!).toString()).toContain('formatCode="@"')
  const expected = rows.map((_, n) => [n + 2, id(n), 'message', 'Hello.'])
  expect(await readRows(csv!)).toEqual(expected)
  expect(await readRows(xlsx!)).toEqual(expected)
})

describe('a file is refused', () => {
  const head = row('conversation_id', 'content')
  const refusal = (bytes: Uint8Array) => expect(readRows(bytes)).rejects
  const unreadable = { why: expect.stringMatching(/not an Excel workbook .* damaged/), exitCode: 2 }
  const tooLarge = { why: expect.stringMatching(/too large/), next: expect.stringMatching(/CSV/) }

  test.for<[string, Uint8Array]>([
    ['another zip file', zipSync({ 'word/document.xml': strToU8('<document/>') })],
    ['one that is cut short', workbook({ A: head }).subarray(0, 900)],
    ['rows that are not in order', workbook({ A: '<row r="3"/><row r="2"/>' })],
    ['rows beyond the last one', workbook({ A: '<row r="1048577"/>' })],
  ])('that is no workbook, or a damaged one: %s', async ([, bytes]) => {
    await refusal(bytes).toMatchObject(unreadable)
  })

  test('with a password, or of an old Excel', async () => {
    const bytes = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(600)])
    await refusal(bytes).toMatchObject({ why: expect.stringMatching(/password, or of Excel 97/) })
  })

  test('if several visible sheets name the columns of an import', async () => {
    const bytes = workbook({ Notes: row('x'), Ann: head, Bob: head })
    await refusal(bytes).toMatchObject({ why: expect.stringMatching(/sheets .*: Ann, Bob$/) })
  })

  test('if a formula has no result, as scripts write them, unless that is an empty text', async () => {
    const formula = (cell: string) => workbook({ A: `<row>${cell}</row>` })
    for (const result of ['', '<v/>', '<v />', '<v></v>'])
      await refusal(formula(`<c r="A1"><f>1+2</f>${result}</c>`)).toMatchObject({
        why: 'the formula of cell A1 has no result yet',
      })
    const empty =
      '<c r="A1" t="str"><f>A2</f><v></v></c><c r="B1"><f t="shared" si="0"/><v>3</v></c>'
    expect(await csvOf(formula(empty))).toBe(',"3"\n')
  })

  test('whose header says that it is smaller than it is', async () => {
    const bytes = Buffer.from(workbook({ A: head.repeat(1000) }))
    const entry = bytes.lastIndexOf('xl/worksheets/sheet1.xml') - 46
    expect(bytes.toString('latin1', entry, entry + 4)).toBe('PK\x01\x02')
    bytes.writeUInt32LE(5000, entry + 24)
    await refusal(bytes).toMatchObject(unreadable)
  })

  test('that takes too much memory or time, and the process goes on', async () => {
    const limits = { maxBytes: 1_000_000, maxHeapMegabytes: 256, maxSeconds: 60 }
    const refused = (bytes: Uint8Array, given: Partial<typeof limits> = {}) =>
      expect(toCsv(bytes, { ...limits, ...given })).rejects.toMatchObject(tooLarge)
    const zeros = { 'xl/worksheets/sheet1.xml': new Uint8Array(1_100_000) }
    await refused(workbook({ A: '' }, { more: zeros }))
    // A text that is stored once may stand in every row.
    const strings = `<si><t>${'x'.repeat(30_000)}</t></si>`
    await refused(workbook({ A: '<row><c t="s"><v>0</v></c></row>'.repeat(40) }, { strings }))
    const wide = workbook({ A: '<row><c r="XFD1"><v>1</v></c></row>'.repeat(3000) })
    await refused(wide, { maxHeapMegabytes: 24 })
    await refused(wide, { maxSeconds: 0 })
  })
})
