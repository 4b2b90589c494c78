/** No expression of the sources takes more than linear time, whatever a service, a file or a person writes. */
import { globSync, readFileSync } from 'node:fs'
import { analyse } from 'scslre'
import { describe, expect, test } from 'vitest'
import { type Expression, expressionsIn } from './regular-expressions.ts'

const slow = ({ source, flags }: Expression) => analyse({ source, flags }).reports.length > 0

test('the sources hold no expression that backtracks more than once over a text', () => {
  const files = globSync(['src/**/*.ts', 'jobs/**/*.ts', 'schema/**/*.ts'])
  const all = files.flatMap((file) => expressionsIn(readFileSync(file, 'utf8')).map((one) => ({ file, ...one })))
  expect(all.length).toBeGreaterThan(100)
  expect(all.filter(slow).map(({ file, line, source }) => `${file}:${line}: /${source}/`)).toEqual([])
})

test('none is made of a text, where it could not be checked', () => {
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
    expect(expressionsIn(text).map(slow)).toEqual([true])
  })

  test('finds expressions wherever they stand, and nothing else', () => {
    const text = [
      'const half = a / b / c // not /this/',
      "const path = '/nor/this'; /* nor /this/ */ x = /one[/]\\/x/g.test(y)",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
      'z = `/${a.replace(/two/, `/${/three/.source}/`)}/`',
      'return /four/',
    ]
    expect(expressionsIn(text.join('\n')).map(({ source }) => source)).toEqual(['one[/]\\/x', 'two', 'three', 'four'])
  })
})
