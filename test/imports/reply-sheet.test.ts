/**
 * Sheets of replies: what a row of one is, by which words columns are known, and what is refused.
 */
import { describe, expect, test } from 'vitest'
import type { LineOptions } from '../../src/imports/parse-lines.ts'
import {
  createSheetWriter,
  downloadedColumns,
  sheetTemplate,
  toSheetCells,
} from '../../src/imports/reply-sheet.ts'
import { mistakeText } from '../../src/outbox/core/writeback-request.ts'
import { conversation, parseAllLines } from './request-fixtures.ts'

const other = 'a3c1d2e4-1111-4222-8333-444455556666'

/** `row operation "words" ref`, or `row: mistakes`. */
async function read(file: string, options: LineOptions = {}) {
  const lines = await parseAllLines(file, options)
  return lines.map(({ row, result, ref }) => {
    if (!result.ok) return `${row}: ${result.mistakes.map(mistakeText).join('; ')}`
    const { operation, target, payload } = result.request
    const words = 'content' in payload ? [payload.content] : []
    return [
      row,
      operation,
      target === conversation ? 'here' : target,
      ...words,
      ...(ref === null ? [] : [ref]),
    ].join(' ')
  })
}

const head = 'conversation_id,content,handled,sender_name,ref'

describe('a row', () => {
  test('is a reply, a flag, the reply before the flag, or still to be written', async () => {
    let empty = 0
    const options = { onEmptyRow: () => void empty++ }
    const rows = [
      'Hello,,Ann,a',
      ',yes,,b',
      '"Two\nlines",x,Ann,c',
      ',,Ann,d',
      ',no,,e',
      'Bye,no,Ann,f',
    ]
    expect(
      await read([head, ...rows.map((row) => `${conversation},${row}`)].join('\n'), options),
    ).toEqual([
      '2 message here Hello a',
      '3 handled here b handled',
      '4 message here Two\nlines c',
      '4 handled here c handled',
      '7 message here Bye f',
    ])
    expect(empty).toBe(2)
  })

  test('has the sender of the whole sheet unless it names one', async () => {
    const file = `conversation_id,content\n${conversation},Hello`
    expect(await read(file)).toEqual(['2: sender_name: is missing'])
    expect(await read(file, { senderName: 'Ann' })).toEqual(['2 message here Hello'])
    // As have the replies of a file that names operations.
    const named = `operation,conversation_id,content\nmessage,${conversation},Hello`
    expect(await read(named, { senderName: 'Ann' })).toEqual(['2 message here Hello'])
  })

  test('has all of its mistakes once, and none of its write-backs is queued then', async () => {
    expect(await read(`${head}\n${conversation},#N/A,maybe,Ann,a`)).toEqual([
      '2: content: is the error of a formula; handled: must be yes or no',
    ])
    expect(await read(`${head}\nnobody,Hello,yes,Ann,a`)).toEqual([
      '2: conversation_id: is not a UUID',
    ])
  })

  test('whose cells slipped aside is no empty one', async () => {
    expect(await read(`${head}\n${conversation},,,,,slipped`)).toEqual([
      expect.stringContaining('2: has a value in a column without a name'),
    ])
  })

  test('with the ref of another one was sorted without it', async () => {
    expect(await read(`${head}\n${conversation},Hello,,Ann,sheet ${other} 17`)).toEqual([
      expect.stringContaining('2: ref: is of another conversation'),
    ])
    const [line] = await read(`${head}\n${conversation},Hello,,Ann,sheet ${conversation} 17`)
    expect(line).toBe(`2 message here Hello sheet ${conversation} 17`)
  })
})

describe('columns', () => {
  test('are known by other words, in any order and case', async () => {
    const file = `Erledigt?;E-Mail;ANTWORT;Signed by;Konversation\nja;;Hallo;Ann;${conversation}`
    expect(await read(file)).toEqual(['2 message here Hallo', '2 handled here'])
  })

  test('are what a person says, first of all', async () => {
    const file = `conversation_id,Wir sagen,Antwort\n${conversation},Hallo,Danke`
    const columns = { wirsagen: 'content', antwort: 'ignored' }
    expect(await read(file, { senderName: 'Ann' })).toEqual([
      expect.stringContaining('Wir sagen: unknown column'),
    ])
    expect(await read(file, { senderName: 'Ann', columns })).toEqual(['2 message here Hallo'])
  })

  test.for([
    ['an operation keeps its own names', 'operation,visitor_id,text'],
    ['a visitor has notes and corrections, and no replies', 'visitor_id,content'],
    ['nobody is named', 'content,sender_name'],
    ['what the customer wrote is no reply', 'conversation_id,message'],
    ['two could be the reply', 'conversation_id,Antwort,Reply'],
  ])('are refused where %s', async ([, header]) => {
    expect(await read(`${header}\n${conversation},x,y`, { senderName: 'Ann' })).toEqual([
      expect.stringMatching(/^1: /),
    ])
  })
})

describe('an address or a name', () => {
  const findConversation: LineOptions['findConversation'] = ({ email }) =>
    email === 'ada@example.com'
      ? { conversationId: conversation, foundBy: 'ada' }
      : { mistake: { field: 'visitor_email', why: 'nobody', found: email, override: null } }

  test('says whose conversation it is where a row has no id', async () => {
    const rows = [
      'Hello,ada@example.com,',
      'Bye,bob@example.com,',
      `Again,bob@example.com,${conversation}`,
    ]
    const file = `content,Kunden-Mail,conversation_id\n${rows.join('\n')}`
    const options = { senderName: 'Ann', findConversation }
    expect(await read(file, options)).toEqual([
      '2 message here Hello',
      expect.stringContaining('3: visitor_email: nobody'),
      '4 message here Again',
    ])
    const lines = await parseAllLines(file, options)
    expect(lines.map(({ foundBy }) => foundBy)).toEqual(['ada', undefined, undefined])
  })
})

describe('what is downloaded', () => {
  const columns = downloadedColumns({})
  const written = async (
    names: readonly string[],
    row: Parameters<typeof toSheetCells>[0] | null,
  ) => {
    const bytes: Uint8Array[] = []
    const output = { write: async (part: Uint8Array) => void bytes.push(part) }
    const writer = createSheetWriter(names, output, { format: 'csv', separator: ';' })
    await writer.write(row === null ? sheetTemplate.rows : [toSheetCells(row, columns)])
    return Buffer.concat(bytes).toString()
  }
  const row = {
    id: conversation,
    name: '=cmd()',
    email: "'+1@example.com",
    lastWords: 'Hi,\n"you"',
    waitingSince: null,
  }

  test('imports as it is, and is no formula', async () => {
    let empty = 0
    const file = await written(columns, { ...row, lastMessageId: '90071992547409931' })
    expect(file).toMatch(/^\uFEFFconversation_id;/)
    expect(file).toContain("'=cmd()")
    expect(await read(file, { onEmptyRow: () => void empty++ })).toEqual([])
    expect(empty).toBe(1)
  })

  test('names the state that was answered, and keeps the digits of its last message', async () => {
    const file = await written(columns, { ...row, lastMessageId: '90071992547409931' })
    const [line] = await parseAllLines(file.replace(';;;;;sheet', ';Hello;;Ann;;sheet'))
    expect(line?.result).toMatchObject({
      ok: true,
      request: { ref: `sheet ${conversation} 90071992547409931`, expect: '90071992547409931' },
    })
  })

  test('the template explains its columns in a row that is skipped', async () => {
    const template = await written(sheetTemplate.names, null)
    expect(template).toContain('not sent if a visitor has written since')
    expect(await read(`${template}${conversation};;;Hello;;;Ann;;;`)).toEqual([
      '3 message here Hello',
    ])
  })
})
