/** Checks by tools: types and style. */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

const root = new URL('../..', import.meta.url).pathname

function run(
  command: string,
  ...args: string[]
): { readonly status: number | null; readonly output: string } {
  // The compiler is a Go program, and would spend a third of its time on collecting garbage.
  const env = { ...process.env, GOGC: 'off' }
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: 'utf8', env })
  return { status, output: status === 0 ? '' : `${stdout}${stderr}` }
}

const clean = { status: 0, output: '' }

test('the types are correct', () => {
  // The other processor has tests to run.
  expect(run('node_modules/.bin/tsc', '--singleThreaded')).toEqual(clean)
})

test('every file is formatted, and the linter finds nothing', () => {
  expect(run('node_modules/.bin/biome', 'ci', '--colors=off', '--error-on-warnings')).toEqual(clean)
})
