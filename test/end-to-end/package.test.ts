/**
 * The package as users get it: packed, installed into an empty folder, and run by the oldest and
 * the current Node.js.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import {
  userEnvironment as env,
  fetchNode,
  installedVersions,
  installGlobally,
  installPackage,
  packPackage,
  unpackPackage,
} from '../support/install-package.ts'
import { sampled } from '../support/sampled.ts'
import { createTempFolder } from '../support/temp-folder.ts'

const run = promisify(execFile)
const root = new URL('../..', import.meta.url).pathname
const folder = createTempFolder(afterAll)
const installed = join(folder, 'node_modules', 'deskmirror')
const launcher = join(installed, 'bin', 'deskmirror.js')

/** The oldest that the package supports: `engines` in package.json. */
const oldestNode = '22.19.0'
const nodes = { [oldestNode]: '', current: process.execPath }

type Locked = {
  readonly version: string
  readonly dev?: true
  readonly optional?: true
  readonly devOptional?: true
}

/** npm itself takes half a minute of a processor, so only the soak waits for it. */
const ways = sampled([unpackPackage, installPackage], (way) => way === unpackPackage)

/** Where it is installed: for a project and, in the soak, for all users of another computer. */
const places = sampled([installed, join(folder, 'global')], (place) => place === installed)

// Some 9,000 files of other packages are packed and unpacked.
beforeAll(async () => {
  const tarball = await packPackage(folder)
  await ways.at(-1)!(folder, tarball)
  nodes[oldestNode] = await fetchNode(folder, oldestNode)
  const [, prefix] = places
  if (prefix === undefined) return
  mkdirSync(prefix)
  places[1] = await installGlobally(prefix, tarball)
}, 600_000)

test('wherever it is installed, its packages are those of the lock file', () => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const locked = Object.entries<Locked>(packages).filter(
    ([path, { dev }]) => path !== '' && dev !== true,
  )
  const versions = new Map(locked.map(([path, { version }]) => [path, version]))
  const needed = locked.flatMap(([path, { optional, devOptional }]) =>
    (optional ?? devOptional) ? [] : [path],
  )
  expect(needed.length).toBeGreaterThan(100)
  for (const place of places) {
    const found = installedVersions(place)
    expect([...found].filter(([path, version]) => versions.get(path) !== version)).toEqual([])
    expect(needed.filter((path) => !found.has(path))).toEqual([])
  }
  // Nothing that its packages name was fetched beside it, either.
  const beside = readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))
  expect(beside).toEqual(['deskmirror'])
})

test('what is bundled with it works on every system, and starts nothing when it is installed', () => {
  const manifests = [...installedVersions(installed).keys()].map((path) => {
    return JSON.parse(readFileSync(join(installed, path, 'package.json'), 'utf8'))
  })
  const limited = manifests.filter(({ os, cpu, libc }) => (os ?? cpu ?? libc) !== undefined)
  const scripts = ['preinstall', 'install', 'postinstall']
  const starting = manifests.filter((manifest) =>
    scripts.some((name) => manifest.scripts?.[name] !== undefined),
  )
  expect([...limited, ...starting].map(({ name }) => name)).toEqual([])
  const builds = readdirSync(join(installed, 'node_modules/better-sqlite3/prebuilds'))
  expect(builds).toEqual(readdirSync(join(root, 'node_modules/better-sqlite3/prebuilds')))
  expect(builds.length).toBeGreaterThanOrEqual(8)
})

test('files for development are not in the package', () => {
  expect(readdirSync(installed).sort()).toEqual(
    [
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'bin',
      'deploy',
      'dist',
      'docs',
      'node_modules',
      'package.json',
    ].sort(),
  )
  expect(readdirSync(join(installed, 'deploy')).sort()).toEqual(
    [
      'alerts.yml',
      'deskmirror-nightly.service',
      'deskmirror-nightly.timer',
      'deskmirror.env.example',
      'deskmirror.service',
      'deskmirror.yaml.example',
      'kubernetes',
      'nightly.sh',
    ].sort(),
  )
  expect(readdirSync(join(installed, 'dist')).sort()).toEqual(['commit', 'jobs', 'schema', 'src'])
})

test('its files import only one another, Node.js, and packages that are installed with them', () => {
  const dist = join(installed, 'dist')
  const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  const imported = globSync('**/*.js', { cwd: dist }).flatMap((file) => {
    const code = readFileSync(join(dist, file), 'utf8')
    return [...code.matchAll(/(?:^import|\bfrom) '([^'.][^']*)';?$|\bimport\('([^'.][^']*)'\)/gm)]
  })
  const names = imported.map(
    ([, from, lazy]) => /^(@[^/]+\/)?[^/]+/.exec(from ?? lazy ?? '')?.[0] ?? '',
  )
  expect(names.length).toBeGreaterThan(50)
  const known = new Set(Object.keys(dependencies))
  expect(
    [...new Set(names)].filter((name) => !name.startsWith('node:') && !known.has(name)),
  ).toEqual([])
})

test.each([oldestNode, 'current'] as const)(
  'it works with SQLite on Node.js %s, with nothing on standard error',
  async (version) => {
    const cwd = mkdtempSync(join(folder, 'run-'))
    const { stdout, stderr } = await run(nodes[version], [launcher, 'migrate'], { cwd, env })
    expect(stdout).toMatch(/^the warehouse went from nothing to /m)
    expect(stderr).toBe('')
    expect(readdirSync(cwd)).toContain('deskmirror.db')
  },
)

test('the demo runs on the oldest Node.js, and the console shows what it kept', async () => {
  const { stdout } = await run(
    nodes[oldestNode],
    [launcher, 'demo', '--keep', 'demo.db', '--quiet', '--json'],
    {
      cwd: folder,
      env,
    },
  )
  const { passes, tables } = JSON.parse(stdout)
  expect(passes.map(({ outcome }: { outcome: string }) => outcome)).toEqual([
    'complete',
    'complete',
  ])
  expect(tables.find(({ table }: { table: string }) => table === 'messages').rows).toBeGreaterThan(
    100,
  )

  const args = [launcher, 'console', 'demo.db', '--no-open']
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [printed] = await once(child.stdout.setEncoding('utf8'), 'data')
  const page = await fetch(
    /http:\/\/127\.0\.0\.1:\d+\/console\/sign-in\?code=[\w-]+/.exec(printed)?.[0] ?? '',
  )
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('</script>')])
})
