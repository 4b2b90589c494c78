/** Words that were replaced by the field's own do not come back. */
import { globSync, readFileSync, statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { retiredIn, retiredPhrasesIn } from './retired-words.ts'

const root = new URL('../..', import.meta.url).pathname
const read = (patterns: readonly string[]) =>
  globSync(patterns, { cwd: root })
    .filter(
      (path) =>
        !/retired-words\.ts$|vocabulary\.test\.ts$|node_modules/.test(path) &&
        statSync(`${root}${path}`).isFile(),
    )
    .map((path) => [path, readFileSync(`${root}${path}`, 'utf8')] as const)

const sources = read(['{src,jobs,schema,bin,bench,test}/**/*.{ts,js}', '*.ts'])
const documents = read([
  '{README,CONTRIBUTING}.md',
  'docs/*.md',
  'deploy/*.*',
  'Dockerfile',
  'docker-compose.yml',
])

test('no name of a file, type, function, variable or property uses a retired word', () => {
  expect(sources.length).toBeGreaterThan(300)
  expect(sources.flatMap(([path, text]) => retiredIn(path, text))).toEqual([])
})

test('no comment, message or document uses a retired phrase', () => {
  expect(documents.length).toBeGreaterThan(10)
  expect(
    [...sources, ...documents].flatMap(([path, text]) => retiredPhrasesIn(path, text)),
  ).toEqual([])
})

test('the check finds what it forbids', () => {
  expect(retiredIn('src/a.ts', "const readWish = 'desk' // a door")).toEqual([
    'src/a.ts: readWish (wish)',
  ])
  expect(retiredIn('src/house/a.ts', '')).toEqual(['src/house/a.ts: src/house/a.ts (house)'])
  expect(retiredPhrasesIn('README.md', 'fine\nIt is for good.')).toHaveLength(1)
})
