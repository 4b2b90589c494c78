/**
 * Before the package is packed: writes down its commit, prepares and checks what npm bundles with
 * it, which is taken from `node_modules`. So the package runs with the versions that the tests ran with; of a lock file
 * within a package npm takes no notice.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { commitFile, readCommit } from '../src/cli/commit.ts'

type Packages = Readonly<Record<string, Locked>>
type Locked = Readonly<Partial<Record<'dev' | 'optional' | 'devOptional', true>>> & {
  readonly version: string
}

const packages: Packages = readJson('package-lock.json').packages
writeFileSync(commitFile, `${readCommit('.', false) ?? ''}\n`)
leaveOutNative('msgpackr', 'msgpackr-extract')
const others = Object.keys(packages).filter(
  (path) => path !== '' && isBundled(path) && !isAsLocked(path),
)
if (others.length > 0) {
  process.stderr.write(
    `not as in package-lock.json: ${others.join(', ')}\n  → run \`npm ci\`, then pack again\n`,
  )
  process.exitCode = 1
}

/**
 * Removes an optional native module, of which only the build for this machine is installed, and its
 * name from the package that would load it: otherwise npm installs its newest version later.
 */
function leaveOutNative(user: string, native: string): void {
  for (const name of [native, `@${native}`])
    rmSync(`node_modules/${name}`, { recursive: true, force: true })
  const file = `node_modules/${user}/package.json`
  const manifest = readJson(file)
  if (manifest.optionalDependencies?.[native] === undefined) return
  delete manifest.optionalDependencies[native]
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`)
}

function isBundled(path: string): boolean {
  const { dev, optional, devOptional } = packages[path] ?? {}
  return dev !== true && optional !== true && devOptional !== true
}

function isAsLocked(path: string): boolean {
  const file = `${path}/package.json`
  return existsSync(file) && readJson(file).version === packages[path]?.version
}

function readJson(file: string) {
  return JSON.parse(readFileSync(file, 'utf8'))
}
