/**
 * Text that another program has changed is recognized, with what it probably was; what people write
 * is left alone.
 */
import { describe, expect, test } from 'vitest'
import { findTextChange, isCutAtComma } from '../../src/values/damaged-text.ts'

describe('what another program has changed', () => {
  test.each([
    ['It&#39;s ready &amp; paid&nbsp;for', 'HTML', "It's ready & paid for"],
    ['Gr&uuml;&szlig;e', 'HTML', 'Grüße'],
    ['Hello<br>Ann', 'HTML', 'Hello Ann'],
    ['<p>Hello</p>', 'HTML', 'Hello'],
    ['Hello\\nit is ready\\n\\nAnn', 'an escaped line break', 'Hello it is ready Ann'],
    ['Hello\\r\\nAnn', 'an escaped line break', 'Hello Ann'],
    ['Gr\\u00fc\\u00dfe', 'an escape', 'Grüße'],
    ['Gr\\xfc\\xdfe', 'an escape', 'Grüße'],
    ['Gr=C3=BC=C3=9Fe', 'an encoding of e-mails', 'Grüße'],
    ['=?UTF-8?Q?Gr=C3=BC?=', 'an encoding of e-mails', '=?UTF-8?Q?Grü?='],
    ['Gr%C3%BC%C3%9Fe%20aus%20K%C3%B6ln', 'an encoding of addresses', 'Grüße aus Köln'],
    ['one_x000B_two', 'an escape of Excel', 'one two'],
    ['Dear {{name}}', 'a placeholder that nobody has filled in', null],
    ['Dear {{name}} &amp; all', 'a placeholder that nobody has filled in', 'Dear {{name}} & all'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a placeholder that another program left
    ['Dear ${first_name}', 'a placeholder that nobody has filled in', null],
    ['1.23456789012346E+17', 'a number that a spreadsheet has shortened', null],
    ['=HYPERLINK("https://a.example";"here")', 'a formula instead of its result', null],
  ])('%s', (text, what, probably) => {
    expect(findTextChange(text)).toMatchObject({ what, probably })
  })
})

describe('what people write', () => {
  test.each([
    'R&D; Tom & Jerry; AT&T',
    'if a < b and c > d',
    'C:\\new\\notes',
    '\\\\server\\notes',
    'https://example.com/?q=K%C3%B6ln%20Mitte&amp=1',
    'See www.example.com/a%20b',
    '100% sure, 20% off, 5 %20',
    'a = b, x={1}',
    'E=mc2',
    'I wrote "Hello, Bob" and left',
    'my_x1_name',
    '=SUM(A1:A3) is what you typed',
  ])('%s', (text) => {
    expect(findTextChange(text)).toBeNull()
  })
})

test('a reply that was cut at a comma within quotes', () => {
  expect(isCutAtComma('“Hello', ' Bob”')).toBe(true)
  expect(isCutAtComma("'Hello", " Bob'")).toBe(true)
  expect(isCutAtComma('“Hello”', 'Bob')).toBe(false)
  expect(isCutAtComma('“Hello', 'Bob')).toBe(false)
  expect(isCutAtComma("'tis ready", 'Ann')).toBe(false)
})
