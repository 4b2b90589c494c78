/** What a reviewer need not look for: types, style, and files that are made from others. */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

const root = new URL('../..', import.meta.url).pathname

function run(command: string, ...args: string[]): { readonly status: number | null; readonly output: string } {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: 'utf8' })
  return { status, output: status === 0 ? '' : `${stdout}${stderr}` }
}

const clean = { status: 0, output: '' }

test('the types hold', () => {
  expect(run('node_modules/.bin/tsc')).toEqual(clean)
}, 60_000)

test('every file is formatted, and the linter has nothing to say', () => {
  expect(run('node_modules/.bin/biome', 'ci', '--colors=off', '--error-on-warnings')).toEqual(clean)
}, 60_000)

test("the wire types are those of the service's document", () => {
  expect(run(process.execPath, 'schema/generate.ts', '--check')).toEqual(clean)
}, 60_000)
