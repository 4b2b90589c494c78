/** A word has one meaning: no two files export a type of the same name. */
import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const root = new URL('../..', import.meta.url).pathname
const files = globSync('{src,jobs,schema,build,bench,test}/**/*.ts', { cwd: root })

function exportedTypes(text: string): readonly string[] {
  return [...text.matchAll(/^export (?:type|interface|class) (\w+)/gm)].map(([, name = '']) => name)
}

test('no exported type has the name of another one', () => {
  const declared = files.flatMap((file) =>
    exportedTypes(readFileSync(`${root}${file}`, 'utf8')).map((name) => ({ name, file })),
  )
  expect(declared.length).toBeGreaterThan(500)
  const repeated = [...Map.groupBy(declared, ({ name }) => name)].filter(
    ([, { length }]) => length > 1,
  )
  expect(repeated.map(([name, places]) => [name, ...places.map(({ file }) => file)])).toEqual([])
})

test('the check finds a name', () => {
  expect(exportedTypes('export type Page = {}\nexport class Row {}\ntype Own = 1')).toEqual([
    'Page',
    'Row',
  ])
})
