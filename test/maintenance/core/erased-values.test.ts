/** What is short or common is not looked for after an erasure. */
import { expect, test } from 'vitest'
import { createValueCollector } from '../../../src/maintenance/core/erased-values.ts'

const project = '7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f'
const visitor = '0d9c4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f'

function collect(row: Readonly<Record<string, unknown>>, isOfVisitor = true) {
  const collector = createValueCollector(project)
  collector.addRow(row, isOfVisitor)
  return collector.result().values.map(({ kind, pieces }) => [kind, ...pieces])
}

test('an id of 12 characters is looked for, a shorter one is not', () => {
  const collector = createValueCollector(project)
  for (const id of [visitor, 'c001', project]) collector.addId(id)
  expect(collector.result()).toEqual({ values: [{ kind: 'own', pieces: [visitor] }], left: 1 })
})

const cases: readonly (readonly [
  string,
  Readonly<Record<string, unknown>>,
  readonly (readonly string[])[],
])[] = [
  ['an address', { email: 'a@bc.de' }, [['own', 'a@bc.de']]],
  [
    'a number of a telephone within JSON',
    { raw: '{"phone":"+49 170 1234567"}' },
    [['own', '+49 170 1234567']],
  ],
  ['a full name', { name: 'Jo Example' }, [['name', 'Jo Example']]],
  ['no short name', { name: 'Al' }, []],
  ['no first name alone', { name: 'Bartholomew' }, []],
  ['a text of several words', { note: 'Where is my order?' }, [['text', 'Where is my order?']]],
  ['no single word of a service', { raw: '{"origin":"visitor_initiated"}' }, []],
  [
    'no time, no number, no project',
    { raw: `{"at":"2026-01-05T10:00:00Z","n":"12345678","p":"${project}"}` },
    [],
  ],
  [
    'the parts of a text that no database writes in another way',
    { note: 'one "two" three and four\nand five six' },
    [['text', ' three and four', 'and five six']],
  ],
]

test.each(cases)('%s', (_, row, expected) => {
  expect(collect(row)).toEqual(expected)
})

test('of a long text, its beginning, its end and pieces between', () => {
  const text = Array.from({ length: 1000 }, (_, n) => `word${n}`).join(' ')
  const [[, ...pieces] = []] = collect({ note: text })
  expect(pieces.length).toBeGreaterThan(3)
  expect(pieces.every((piece) => text.includes(piece!) && piece!.length === 48)).toBe(true)
  expect([text.startsWith(pieces[0]!), text.endsWith(pieces.at(-1)!)]).toEqual([true, true])
})
