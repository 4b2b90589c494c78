/** No regular expression of the sources takes more than linear time, whatever the input. */
import { globSync, readFileSync } from 'node:fs'
import { analyse } from 'scslre'
import { describe, expect, test } from 'vitest'
import { type Expression, expressionsIn } from './regular-expressions.ts'

const isSlow = ({ source, flags }: Expression) => analyse({ source, flags }).reports.length > 0

test('the sources contain no expression with superlinear backtracking', () => {
  const files = globSync(['src/**/*.ts', 'jobs/**/*.ts', 'schema/**/*.ts'])
  const all = files.flatMap((file) =>
    expressionsIn(readFileSync(file, 'utf8')).map((expression) => ({ file, ...expression })),
  )
  expect(all.length).toBeGreaterThan(100)
  expect(
    all.filter(isSlow).map(({ file, line, source }) => `${file}:${line}: /${source}/`),
  ).toEqual([])
})

test('none is built from a string, which could not be checked', () => {
  const files = globSync(['src/**/*.ts', 'jobs/**/*.ts', 'schema/**/*.ts'])
  expect(files.filter((file) => /\bRegExp\(/.test(readFileSync(file, 'utf8')))).toEqual([])
})

describe('the check itself', () => {
  test.for([
    '.replace(/([A-Z]+)([A-Z][a-z])/g, "")',
    'const tags = /<[^>]*>|&#?\\w+;|[^\\p{L}\\p{N}]/gu',
    'if (/[a-z][\\w-]*:(?:read|write)\\b/i.test(x)) y',
    'const bare = path.replace(/\\/+$/, "")',
  ])('finds a slow one: %s', (text) => {
    expect(expressionsIn(text).map(isSlow)).toEqual([true])
  })

  test('finds expressions in any position, and nothing else', () => {
    const text = [
      'const half = a / b / c // not /this/',
      "const path = '/nor/this'; /* nor /this/ */ x = /one[/]\\/x/g.test(y)",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
      'z = `/${a.replace(/two/, `/${/three/.source}/`)}/`',
      'return /four/',
    ]
    expect(expressionsIn(text.join('\n')).map(({ source }) => source)).toEqual([
      'one[/]\\/x',
      'two',
      'three',
      'four',
    ])
  })
})
