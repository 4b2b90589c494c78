/** The package as users get it: packed, installed into an empty folder, and run by the oldest and the current Node.js. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTempFolder } from '../support/temp-folder.ts'

const run = promisify(execFile)
const root = new URL('../..', import.meta.url).pathname
const folder = createTempFolder(afterAll)
const installed = join(folder, 'node_modules', 'deskmirror')
const launcher = join(installed, 'bin', 'deskmirror.js')

/** The oldest Node.js that the package supports: `engines` in package.json. */
const oldest = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
const nodes = { '22.19.0': join(folder, 'node_modules', oldest, 'bin', 'node'), current: process.execPath }

/** npm's variables about this project would mislead an npm that works in another folder. */
const keptVariables = /^npm_config_(registry|cache|userconfig|globalconfig)$/
const env = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(npm_|DESKMIRROR_|INIT_CWD)/.test(name) || keptVariables.test(name),
  ),
)

beforeAll(async () => {
  // What `npm pack` does, except that another test checks the types, which takes nearly all of the time of a build.
  await run('npm', ['run', '--silent', 'build', '--', '--noCheck'], { cwd: root, env })
  await run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], { cwd: root, env })
  const [tarball = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  const quietOptions = ['--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline']
  await run('npm', ['install', ...quietOptions, `./${tarball}`, `${oldest}@22.19.0`], { cwd: folder, env })
})

test('packing builds', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  expect(scripts.prepack).toBe('npm run build')
})

test('files for development are not in the package', () => {
  expect(readdirSync(installed).sort()).toEqual(
    ['CHANGELOG.md', 'LICENSE', 'README.md', 'bin', 'deploy', 'dist', 'docs', 'package.json'].sort(),
  )
  expect(readdirSync(join(installed, 'deploy')).sort()).toEqual(
    ['alerts.yml', 'deskmirror.env.example', 'deskmirror.service'].sort(),
  )
  expect(readdirSync(join(installed, 'dist')).sort()).toEqual(['jobs', 'schema', 'src'])
})

test.each(Object.entries(nodes))(
  'it works with SQLite on Node.js %s, with nothing on standard error',
  async (_, node) => {
    const cwd = mkdtempSync(join(folder, 'run-'))
    const { stdout, stderr } = await run(node, [launcher, 'migrate'], { cwd, env })
    expect(stdout).toMatch(/^the warehouse went from nothing to /m)
    expect(stderr).toBe('')
    expect(readdirSync(cwd)).toContain('deskmirror.db')
  },
  60_000,
)

test('the demo runs on the oldest Node.js', async () => {
  const { stdout } = await run(nodes['22.19.0'], [launcher, 'demo', '--quiet', '--json'], { cwd: folder, env })
  const { passes, tables } = JSON.parse(stdout)
  expect(passes.map(({ outcome }: { outcome: string }) => outcome)).toEqual(['complete', 'complete'])
  expect(tables.find(({ table }: { table: string }) => table === 'messages').rows).toBeGreaterThan(100)
})
