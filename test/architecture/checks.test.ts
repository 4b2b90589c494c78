/** Checks by tools: types and style. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ownCache } from '../support/compile-once.ts'

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
  // What has not changed since is not checked again. The other processor has tests to run.
  const remembered = join(ownCache, 'types.tsbuildinfo')
  const options = ['--singleThreaded', '--incremental', '--tsBuildInfoFile', remembered]
  expect(run('node_modules/.bin/tsc', ...options)).toEqual(clean)
})

test('every file is formatted, and the linter finds nothing', () => {
  expect(run('node_modules/.bin/biome', 'ci', '--colors=off', '--error-on-warnings')).toEqual(clean)
})
