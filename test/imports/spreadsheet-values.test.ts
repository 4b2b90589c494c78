/**
 * What people and spreadsheets write into columns and cells: what is read, and what is refused
 * before a customer reads it.
 */
import { describe, expect, test } from 'vitest'
import type { ImportFile } from '../../src/imports/open-file.ts'
import { mistakeText } from '../../src/outbox/core/writeback-request.ts'
import { conversation, parseAllLines, visitor } from './request-fixtures.ts'

async function parse(file: string, options: ImportFile['parse'] = {}) {
  return (await parseAllLines(file, options)).map(({ row, result }) =>
    result.ok
      ? { row, ...result.request.payload, ref: result.request.ref, target: result.request.target }
      : [row, ...result.mistakes.map((mistake) => [mistakeText(mistake), mistake.found])],
  )
}

/** The result of a file of one row. */
const parseRow = async (...[header, row]: readonly [header: string, row: string]) =>
  (await parse(`${header}\n${row}`))[0]

const noOperation =
  'operation: column is missing; replies need none if the columns conversation_id and content are there'

describe('the first row', () => {
  test.for([
    'Operation,Conversation ID,Content,Sender Name',
    'OPERATION , conversation-id,CONTENT, sender.name',
    'operation,conversationId,content,senderName',
    '"Operation:","Conversation\u00a0ID*","Content","Sender\nName"',
    '\uFEFFoperation;conversation id;content;sender name',
    'operation\tconversation id\tcontent\tsender name',
    'sep=|\noperation|conversation id|content|sender name',
  ])('names the columns: %j', async (header) => {
    const separator = /[|;\t]/.exec(header)?.[0] ?? ','
    const row = ['message', conversation, 'Hi', 'Ann'].join(separator)
    const expected = { row: 2, target: conversation, content: 'Hi', sender_name: 'Ann' }
    expect(await parse(`${header}\n${row}`)).toEqual([{ ...expected, ref: null }])
  })

  test.for<[header: string, mistakes: readonly (readonly [string, string | null])[]]>([
    [
      'operation,visitor,content',
      [['visitor: unknown column; did you mean visitor_id?', 'column B']],
    ],
    [
      'operation,visitor_id,Contnet',
      [['Contnet: unknown column; did you mean content?', 'column C']],
    ],
    ['operation,visitor_id,content,Agent', [['Agent: unknown column', 'column D']]],
    ['Operation,visitor_id,content,Content', [['content: appears twice', 'columns C and D']]],
    ['visitor_id,content', [[noOperation, null]]],
    [
      'conversation-id,mesage',
      [
        ['mesage: unknown column; did you mean content?', 'column B'],
        [noOperation, null],
      ],
    ],
    [
      'conversaton-id,Antwrot',
      [
        ['conversaton-id: unknown column; did you mean conversation_id?', 'column A'],
        ['Antwrot: unknown column; did you mean content?', 'column B'],
        [noOperation, null],
      ],
    ],
    [
      'id 1,Sent to,content',
      [
        ['id 1: unknown column', 'column A'],
        ['Sent to: unknown column', 'column B'],
        [noOperation, null],
      ],
    ],
  ])('is refused with all of its mistakes: %s', async ([header, mistakes]) => {
    expect(await parse(`${header}\nnote,${visitor},x`)).toEqual([[1, ...mistakes]])
  })

  test('titles above it are pointed out, and data without it', async () => {
    const file = `Replies for Monday,,\n,,\nby Ann,,\noperation,visitor_id,content\nnote,${visitor},x\n`
    expect(await parse(file)).toEqual([
      [1, ['does not name the columns, but row 4 does: delete the rows above that', null]],
    ])
    expect(await parse(`note,${visitor},Hi\nnote,${visitor},Ho\n`)).toEqual([
      [
        1,
        [
          'does not name the columns; the first row must have names like operation, conversation_id, visitor_id, content',
          `note, ${visitor}, Hi`,
        ],
      ],
    ])
  })

  test('other columns are let through where they are named, or all', async () => {
    const file = `operation,visitor_id,content,Owner,\nnote,${visitor},x,Bob,y`
    const unnamed =
      'has a value in a column without a name: is a separator in a text, without quotes around it?'
    expect(await parse(file, { ignoreColumns: ['owner '] })).toEqual([
      [2, [unnamed, 'column E: y']],
    ])
    expect(await parse(file, { ignoreColumns: 'all' })).toMatchObject([{ row: 2, content: 'x' }])
    const both = `operation,visitor_id,conversation_id,content\nnote,${visitor},${conversation},x`
    expect(await parse(both)).toEqual([
      [2, ['conversation_id: is not a field of this operation', conversation]],
    ])
    expect(await parse(both, { ignoreColumns: ['Conversation ID'] })).toMatchObject([
      { content: 'x', target: visitor },
    ])
    expect(await parse(file, { ignoreColumns: ['Team'] })).toEqual([
      [1, ['Owner: unknown column', 'column D']],
    ])
  })

  test('again, as in files that were joined, is skipped', async () => {
    const file = `operation,visitor_id,content\nnote,${visitor},x\n`
    expect(await parse(`${file}\uFEFF${file}`)).toMatchObject([{ row: 2 }, { row: 4 }])
  })
})

describe('rows', () => {
  test('are numbered as in the spreadsheet, whatever lines and blank rows there are', async () => {
    const file = `operation;visitor_id;content\r\nnote;${visitor};"a\nb\nc"\r\n;;\r\n\r\nnote;x;d\r\n`
    expect((await parseAllLines(file)).map(({ line, row }) => [line, row])).toEqual([
      [2, 2],
      [7, 5],
    ])
  })

  test('of nothing but cleared checkboxes hold nothing to do', async () => {
    const file = `operation,conversation_id,handled,ref\nhandled,${conversation},TRUE,a\n,,FALSE,\n,,FALSE,\n`
    expect(await parse(file)).toMatchObject([{ row: 2, handled: true }])
  })

  test('of other operations may have a cleared checkbox, but not a set one', async () => {
    const header = 'operation,visitor_id,content,handled'
    expect(await parseRow(header, `note,${visitor},x,FALSE`)).toMatchObject({ content: 'x' })
    expect(await parseRow(header, `note,${visitor},x,TRUE`)).toEqual([
      2,
      ['handled: is not a field of this operation', 'TRUE'],
    ])
  })
})

describe('true and false', () => {
  const header = 'operation,conversation_id,handled'
  const yes = [
    'x',
    'X',
    'ja',
    'WAHR',
    'VRAI',
    'VERDADERO',
    'VERO',
    'PRAWDA',
    'DOĞRU',
    'DOĞRU'.normalize('NFD'),
    '✓',
    '☑',
  ]
  const no = ['nein', 'FALSCH', 'FAUX', 'FALSO', 'FAŁSZ', 'YANLIŞ', 'ЛОЖЬ', '☐', '0.0', 'N']

  test.for([...yes, '1.0', 'on', '\u00a0Yes\u200b'])('%s is true', async (word) => {
    expect(await parseRow(header, `handled,${conversation},${word}`)).toMatchObject({
      handled: true,
    })
  })

  test.for(no)('%s is false', async (word) => {
    expect(await parseRow(header, `handled,${conversation},${word}`)).toMatchObject({
      handled: false,
    })
  })

  test.for(['-', '?', 'maybe', 'True or false', '10'])('%s is neither', async (word) => {
    expect(await parseRow(header, `handled,${conversation},${word}`)).toEqual([
      2,
      ['handled: must be yes or no', word],
    ])
  })
})

describe('ids and keys', () => {
  const header = 'operation,conversation_id,handled,expect,ref,expires_at'

  test.for([
    `\u00a0${conversation}\u200b`,
    `“${conversation}”`,
    `{${conversation}}`,
    `"=""${conversation}"""`,
    conversation.replaceAll('-', '–'),
  ])('an id is read behind what programs put around it: %s', async (id) => {
    expect(await parseRow(header, `handled,${id},x`)).toMatchObject({ target: conversation })
  })

  test('a number that was shortened has lost its last digits', async () => {
    const why =
      'is a number that a spreadsheet has shortened, and its last digits are lost; format the column as text before you paste the values'
    expect(await parseRow(header, `handled,4.8E+21,x,"9,00719925474099E+15",1.23457E+12`)).toEqual([
      2,
      [`conversation_id: ${why}`, '4.8E+21'],
      [`expect: ${why}`, '9,00719925474099E+15'],
      [`ref: ${why}`, '1.23457E+12'],
    ])
    const [line] = await parseAllLines(`${header}\nhandled,${conversation},x,12.0,1e5`)
    expect(line?.result).toMatchObject({ ok: true, request: { expect: '12', ref: '1e5' } })
  })

  test('a time is read as databases write it, and not as spreadsheets do', async () => {
    const at = async (time: string) =>
      (await parseAllLines(`${header}\nhandled,${conversation},x,,,${time}`)).map(({ result }) =>
        result.ok ? result.request.expiresAt : result.mistakes.map(({ why }) => why),
      )[0]
    expect(await at('2026-01-31 18:00:00+00')).toBe('2026-01-31T18:00:00Z')
    expect(await at('2026-01-31 18:00:00.25+01:00')).toBe('2026-01-31T17:00:00Z')
    for (const time of ['31.01.2026 18:00', '1/31/2026 18:00', '46053.75', '2026-01-31 18:00:00'])
      expect(await at(time)).toEqual(['must be a time like 2026-01-31T18:00:00Z'])
  })
})

describe('texts', () => {
  const header = 'operation,visitor_id,content,name,email'
  const note = (content: string) => parseRow(header, `note,${visitor},${content}`)

  test.for([
    '“Hi” it’s us – bonjour\u00a0!',
    'a\u00a0b',
    '  indented  ',
    'x\u200dy',
    '#1',
    '# VIP',
    '5 % = 5/100',
  ])('are sent exactly as they were written: %s', async (content) => {
    expect(await note(content)).toMatchObject({ content })
  })

  test('of one line lose outer spaces', async () => {
    const row = `visitor,${visitor},,\u00a0Ada  Lovelace ,ada@example.com\u00a0`
    expect(await parseRow(header, row)).toMatchObject({
      name: 'Ada  Lovelace',
      email: 'ada@example.com',
    })
  })

  test.for([
    ...[
      '#N/A',
      '#REF!',
      '#DIV/0!',
      '#NAME?',
      '#VALUE!',
      '#NULL!',
      '#SPILL!',
      '#ERROR!',
      '#GETTING_DATA!',
    ],
    ...[
      '#NV',
      '#BEZUG!',
      '#WERT!',
      '#ZAHL!',
      '#¡REF!',
      '#¿NOMBRE?',
      '#¡DIV/0!',
      '#NOM?',
      '#N/D',
      '#RIF!',
      '#ИМЯ?',
    ],
    ...['Err:502', '########'],
  ])('that are the error of a formula are refused: %s', async (cell) => {
    expect(await note(cell)).toEqual([2, ['content: is the error of a formula', cell]])
  })

  test.for([
    ['GrÃ¼ÃŸe', 'was read in the wrong encoding before it was saved: Ã¼ instead of ü'],
    ...[
      'GrÃ¼ÃŸe aus Köln',
      '„Hallo“ aus Ã–sterreich 😀',
      'Ľúbim â‚¬ 5',
      'Señor 10Â\xa0000 â‚¬',
    ].map(
      (text) =>
        [text, 'was read in the wrong encoding before it was saved: Ã¼ instead of ü'] as const,
    ),
    ['Itâ€™s here', 'was read in the wrong encoding before it was saved: Ã¼ instead of ü'],
    ['Gr��e', 'has � where a program could not read a letter; take the text from its source again'],
    ['One_x000D_', 'has _x000D_ where a program left out a line break'],
  ])('that were damaged before the file was saved are refused: %s', async ([cell = '', why]) => {
    expect(await note(cell)).toEqual([2, [`content: ${why}`, cell]])
    const line = JSON.stringify({ operation: 'note', visitor_id: visitor, content: cell })
    expect(await parse(line)).toEqual([[1, [`content: ${why}`, cell]]])
  })

  test.for(['NULL', '(null)', '\\N', 'NaN', 'None', 'undefined', '[object Object]'])(
    'that stand for no value are refused, unless an apostrophe says that they are texts: %s',
    async (cell) => {
      const why =
        'is how a program writes that there is no value; leave the cell empty, or write null to clear the field'
      expect(await note(cell)).toEqual([2, [`content: ${why}`, cell]])
      expect(await note(`'${cell}`)).toMatchObject({ content: cell })
    },
  )

  test.for([
    ...[
      '„Fuß“',
      '«LIBERTÉ» !',
      'Je suis “désolé…”',
      'Santé\xa0» — déjà « vu »',
      'CAFÉ® – “AMANHÔ',
      'ANDRÉ’S – “CAFÉ–BAR”',
    ],
    ...['Ünïcödé', 'Â', 'naïve café', '© 2026', 'Ã la carte', '価格', 'Ľúbim'],
  ])('in any language are sent: %s', async (content) => {
    expect(await note(content)).toMatchObject({ content })
  })

  test('a control character is named by its code', async () => {
    expect(await note('a\u000bb')).toEqual([
      2,
      ['content: contains control characters or unpaired surrogates', 'U+000B'],
    ])
  })

  test('a separator without quotes around its text does not cut the text', async () => {
    expect(
      await parseRow('operation,visitor_id,content', `note,${visitor},Dear Ada, thank you`),
    ).toEqual([
      2,
      [
        'has a value in a column without a name: is a separator in a text, without quotes around it?',
        'column D:  thank you',
      ],
    ])
  })
})
