/**
 * Texts in files for spreadsheets: none is executed, at whatever separator a spreadsheet splits the
 * file.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  createCsvWriter,
  defuse,
  defuseWithin,
  restoreWithin,
} from '../../src/export/writers/csv-writer.ts'
import { csvHeader, toCsvRow, toHarmlessCell } from '../../src/imports/csv-cells.ts'
import {
  createSheetWriter,
  downloadedColumns,
  toSheetCells,
} from '../../src/imports/reply-sheet.ts'
import { conversation, parseAllLines, trickyText } from '../imports/request-fixtures.ts'

/** As a spreadsheet of another language reads the file: it splits there, and sees no quotes. */
const pieces = (text: string) =>
  text.split(/[,;\t\r\n]/).map((piece, n) => piece.replace(n === 0 ? /^\s+/ : /^[\s"]+/, ''))
const isFormula = (piece: string) => /^[=+\-@＝＋－＠]/.test(piece)

const dde = `Hello;=cmd|'/c calc'!A0;`
const examples = [
  [dde, `Hello;'=cmd|'/c calc'!A0;`],
  ['a,=1+1', "a,'=1+1"],
  ['a\t@SUM(1)', "a\t'@SUM(1)"],
  ['a\r\n-1', "a\r\n'-1"],
  ['a\n  +1', "a\n  '+1"],
  ['a;"=1"', `a;"'=1"`],
  ['a;＝1', "a;'＝1"],
  ['=a;=b', "'=a;'=b"],
  ["a;'=b", "a;''=b"],
  ['a = b; c - d', 'a = b; c - d'],
] as const

test.each(examples)('%j', (text, expected) => {
  expect(defuse(text)).toBe(expected)
})

const anyText = fc.oneof(trickyText, fc.string({ unit: fc.constantFrom(...`=;,\t\n"' -a`) }))

test('no piece of any text is a formula, and a text within which one was defused can be restored', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect(pieces(defuse(text)).filter(isFormula)).toEqual([])
      expect(restoreWithin(defuseWithin(text))).toBe(text)
    }),
    { numRuns: 2000 },
  )
})

test('every file that people open in a spreadsheet has it', async () => {
  const bytes: Uint8Array[] = []
  const output = { write: async (part: Uint8Array) => void bytes.push(part) }
  const writer = createCsvWriter([{ name: 'content', type: 'text' }], output, {
    forSpreadsheets: true,
  })
  await writer.write([[dde]])
  const sheet = createSheetWriter([], output, { format: 'csv', separator: ',' })
  const row = {
    id: conversation,
    name: dde,
    email: null,
    lastWords: dde,
    waitingSince: null,
    lastMessageId: null,
  }
  await sheet.write([toSheetCells(row, downloadedColumns({}))])
  const written = [
    Buffer.concat(bytes).toString(),
    toHarmlessCell(dde, false),
    toHarmlessCell(dde, true),
  ]
  for (const text of written) expect(pieces(text).filter(isFormula)).toEqual([])
})

test('an export of write-backs is imported as it was, and a file of others is not changed', async () => {
  const payload = { content: `${dde}\n- one\n'-v`, sender_name: 'Ann' }
  const request = {
    operation: 'message',
    target: conversation,
    payload,
    ref: null,
    expect: null,
    expiresAt: null,
  } as const
  const exported = `${csvHeader}${toCsvRow({ id: 'w-1', status: 'failed' }, request)}`
  expect(pieces(exported).filter(isFormula)).toEqual([])
  const [own] = await parseAllLines(exported)
  expect(own?.result).toMatchObject({ ok: true, request: { payload } })
  const text = `The option:\n'-v' and\n'=x'`
  const [foreign] = await parseAllLines(
    `operation,conversation_id,content,sender_name\nmessage,${conversation},"${text}",Ann\n`,
  )
  expect(foreign?.result).toMatchObject({ ok: true, request: { payload: { content: text } } })
})
