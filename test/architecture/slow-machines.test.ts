/** Tests pass on a machine that is thirty times slower: none has a limit below the usual one. */
import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const root = new URL('../..', import.meta.url).pathname

const shortLimits: readonly RegExp[] = [
  // test/support/wait.ts has the one limit.
  /\bvi\.wait(For|Until)\(/,
  /\.poll\(.*timeout:/,
  /^\s*\}, (\d{1,2}|1\d\d)_000\)$/,
  /performance\.now\(\) - \w+\)\.toBeLessThan\(\d{1,2}_?\d{3}\)/,
]

test('no test has a short limit of its own', () => {
  const files = globSync('test/**/*.test.ts', { cwd: root })
  expect(files.length).toBeGreaterThan(300)
  const found = files.flatMap((file) =>
    readFileSync(`${root}${file}`, 'utf8')
      .split('\n')
      .filter((line) => shortLimits.some((limit) => limit.test(line)))
      .map((line) => `${file}: ${line.trim()}`),
  )
  expect(found).toEqual([])
})
