/**
 * A sheet of 500 rows as a person makes it, with every mess: what is right in it, and what is
 * wrong.
 */
import type { ProgramCell } from './programs.ts'

export type SpreadsheetRow = {
  readonly operation: string
  readonly conversation?: ProgramCell
  readonly visitor?: ProgramCell
  readonly content?: ProgramCell
  readonly sender?: ProgramCell
  readonly handled?: ProgramCell
  readonly name?: ProgramCell
  readonly email?: ProgramCell
  readonly ref?: ProgramCell
  readonly expires?: ProgramCell
  readonly owner?: ProgramCell
  readonly isMistaken?: true
}

/** The ids of the project's rows. */
export type SheetWorld = {
  readonly conversation: (n: number) => string
  readonly visitor: (n: number) => string
}

/** With two columns that were cleared, and whose cells the program still writes. */
const header = [
  'Operation',
  ' Conversation ID ',
  'visitor-id',
  'CONTENT',
  'Sender\nName',
  'Handled',
].concat(['Name', 'E-Mail', 'Ref', 'Expires At', 'Owner', '', ''])

function toCells(row: SpreadsheetRow): readonly ProgramCell[] {
  const {
    operation,
    conversation,
    visitor,
    content,
    sender,
    handled,
    name,
    email,
    ref,
    expires,
    owner,
  } = row
  const cells = [
    operation,
    conversation,
    visitor,
    content,
    sender,
    handled,
    name,
    email,
    ref,
    expires,
    owner,
  ]
  return [...cells.map((cell) => cell ?? null), null, null]
}

/**
 * Rows with nothing in them, among the others and at the end, where a column of checkboxes goes on.
 */
export function toSheet(rows: readonly SpreadsheetRow[]): readonly (readonly ProgramCell[])[] {
  const blank = header.map(() => null)
  const unchecked = header.map((name) => (name === 'Handled' ? false : null))
  const middle = 250
  return [
    header,
    ...rows.slice(0, middle).map(toCells),
    ...Array.from({ length: 3 }, () => blank),
    ...rows.slice(middle).map(toCells),
    ...Array.from({ length: 20 }, () => unchecked),
    ...Array.from({ length: 10 }, () => blank),
  ]
}

/** Each is sent exactly as it is here. */
const texts = [
  'Your order left our warehouse this morning.',
  'He said "tomorrow"; we said: today, or Friday.',
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
]

/**
 * A spreadsheet that would run a text as a formula gets an apostrophe before it, which is not sent.
 */
const typed = (text: string) => (/^[=+\-@]/.test(text) ? `'${text}` : text)

export function validRows({ conversation, visitor }: SheetWorld): readonly SpreadsheetRow[] {
  const reply = (n: number, suffix = ''): SpreadsheetRow => ({
    operation: n % 3 === 0 ? 'Message' : 'message',
    conversation: n % 7 === 0 ? `\u00a0${conversation(n).toUpperCase()} ` : conversation(n),
    content: typed(`${texts[n % texts.length]}${suffix}`),
    sender: n % 5 === 0 ? ' Ann\u00a0' : 'Ann',
    ref: `R-${n}${suffix.trim()}`,
    // A row of another operation than the checkbox is for.
    handled: n % 4 === 0 ? false : null,
    owner: 'Bob',
  })
  const flag = (n: number, handled: ProgramCell): SpreadsheetRow => ({
    operation: 'handled',
    conversation: conversation(n),
    handled,
  })
  const words: readonly ProgramCell[] = [true, 'x', 'Ja', 'YES', '1', true]
  const range = (count: number, from = 0) => Array.from({ length: count }, (_, n) => from + n)
  return [
    // A reply reopens its conversation, and the flag behind it closes it again.
    ...range(100).flatMap((n) => [reply(n), flag(n, words[n % words.length] ?? true)]),
    ...range(20, 100).map((n) => flag(n, n % 2 === 0 ? 'nein' : false)),
    ...range(77, 20).map((n) => reply(n, ' (2)')),
    ...range(3).map((n) => ({
      ...flag(n, true),
      conversation: `00000000-0000-4000-8000-00000000000${n}`,
    })),
    ...range(60).map((n): SpreadsheetRow => {
      const correction = { operation: 'visitor', visitor: visitor(n), ref: `V-${n}` }
      if (n % 3 === 0) return { ...correction, name: ` Zoë O’Brien ${n}\u00a0` }
      return n % 3 === 1
        ? { ...correction, email: `v${n}@example.com ` }
        : { ...correction, name: `'t Hooft`, email: 'null' }
    }),
    ...range(60, 60).map(
      (n): SpreadsheetRow => ({
        operation: 'note',
        visitor: `{${visitor(n)}}`,
        content: typed(`${texts[n % texts.length]}`),
        expires: '2199-01-31 18:00:00+00',
      }),
    ),
  ]
}

/** The mistakes by kind, each with the value that the mistake is to show; null if it shows none. */
export function mistakenRows({ conversation, visitor }: SheetWorld) {
  const reply = {
    operation: 'message',
    conversation: conversation(118),
    content: 'Hi',
    sender: 'Ann',
  }
  const note = { operation: 'note', visitor: visitor(118), content: 'Hi' }
  const flag = { operation: 'handled', conversation: conversation(118), handled: true }
  const many = (count: number, row: (n: number) => SpreadsheetRow) =>
    Array.from({ length: count }, (_, n) => row(n))
  const rows = [
    ...many(7, (n) => ({ ...note, visitor: 'n/a', ref: `M-${n}` })),
    ...many(5, (n) => ({ ...note, visitor: `471${n}` })),
    ...many(9, (n) => ({ ...reply, content: null, ref: `E-${n}` })),
    ...many(6, () => ({ ...note, content: 'not available' })),
    ...many(5, () => ({ ...note, content: 'GrÃ¼ÃŸe' })),
    ...many(4, (n) => ({ ...note, ref: { number: `900719925474099${n}` } })),
    ...many(6, () => ({ ...note, expires: { time: '2026-01-31T18:00:00Z' } })),
    ...many(4, () => ({ ...flag, handled: 'maybe' })),
    ...many(8, (n) => ({ ...reply, operation: 'Reply', content: `Hi ${n}` })),
    ...many(3, (n) => ({ ...note, ref: `R-${n}` })),
    // The same words as in an earlier row, typed on another machine.
    ...many(4, (n) => ({
      ...reply,
      conversation: conversation(n),
      content: `  ${texts[n]?.replaceAll('’', "'")} `,
    })),
    ...many(5, () => ({ ...note, handled: true })),
    ...many(4, () => ({ ...note, expires: '2020-01-01T00:00:00Z' })),
    ...many(6, () => ({ operation: 'visitor', visitor: visitor(118) })),
    ...many(4, (n) => ({ ...note, content: `page\u000b${n}` })),
  ]
  return rows.map((row): SpreadsheetRow => ({ ...row, isMistaken: true }))
}

/**
 * All rows of the sheet: from the second hundred on, each fourth is a mistaken one until there are
 * no more.
 */
export function mixRows(
  valid: readonly SpreadsheetRow[],
  mistaken: readonly SpreadsheetRow[],
): readonly SpreadsheetRow[] {
  const start = 120
  const mixed = mistaken.flatMap((row, n) => [
    ...valid.slice(start + n * 3, start + n * 3 + 3),
    row,
  ])
  return [...valid.slice(0, start), ...mixed, ...valid.slice(start + mistaken.length * 3)]
}
