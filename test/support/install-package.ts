/** Packs this project and installs the package into an empty folder, as users do. */
import { execFile } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ownCache } from './compile-once.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const quickGzip = new URL('./quick-gzip.ts', import.meta.url)

/** npm's variables about this project would mislead an npm that works in another folder. */
const keptVariables = /^npm_config_(registry|cache|userconfig|globalconfig)$/
export const userEnvironment = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(npm_|DESKMIRROR_|INIT_CWD)/.test(name) || keptVariables.test(name),
  ),
)

/** More threads of npm than one spend their time on waiting for one another. */
const oneThread = { ...userEnvironment, UV_THREADPOOL_SIZE: '1' }

/** Returns the file. */
export async function packPackage(folder: string): Promise<string> {
  await run('npm', ['pack', '--silent', '--pack-destination', folder], {
    cwd: root,
    env: { ...oneThread, NODE_OPTIONS: `--import=${quickGzip}` },
  })
  const [tarball = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
  return join(folder, tarball)
}

/** Returns the folder of the package. */
export async function installPackage(folder: string, packed?: string): Promise<string> {
  const tarball = packed ?? (await packPackage(folder))
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  await npmInstall(folder, tarball)
  return join(folder, 'node_modules', 'deskmirror')
}

/** What npm does with a package that has all that it needs. */
export async function unpackPackage(folder: string, tarball: string): Promise<void> {
  const installed = join(folder, 'node_modules', 'deskmirror')
  mkdirSync(installed, { recursive: true })
  await run('tar', ['-xzf', tarball, '--strip-components=1'], { cwd: installed })
}

/**
 * A release of Node.js, kept for later runs. Returns its program, without the thousands of files
 * that npm would install. It is unpacked in `folder`.
 */
export async function fetchNode(folder: string, version: string): Promise<string> {
  const isWindows = process.platform === 'win32'
  const kept = join(ownCache, `node-${version}${isWindows ? '.exe' : ''}`)
  if (existsSync(kept)) return kept
  const name = `node-${isWindows ? 'win' : process.platform}-${process.arch}`
  const program = `package/bin/${isWindows ? 'node.exe' : 'node'}`
  const pack = ['pack', '--silent', '--prefer-offline', `${name}@${version}`]
  const { stdout } = await run('npm', pack, { cwd: folder, env: userEnvironment })
  await run('tar', ['-xzf', stdout.trim(), program], { cwd: folder })
  mkdirSync(ownCache, { recursive: true })
  // So that nobody finds a half of it.
  copyFileSync(join(folder, program), `${kept}.${process.pid}`)
  renameSync(`${kept}.${process.pid}`, kept)
  return kept
}

/** For all users of a system, which has its programs below `prefix`. */
export async function installGlobally(prefix: string, tarball: string): Promise<string> {
  await npmInstall(prefix, '--global', '--prefix', prefix, tarball)
  const modules = process.platform === 'win32' ? 'node_modules' : join('lib', 'node_modules')
  return join(prefix, modules, 'deskmirror')
}

/** Into the folder; `args`: packages, with their versions. */
export async function npmInstall(folder: string, ...args: readonly string[]): Promise<void> {
  const quietOptions = ['--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline']
  // npm unpacks into its cache first: into a folder that is as fast as this one.
  const options = [...quietOptions, '--cache', join(folder, 'npm-cache')]
  await run('npm', ['install', ...options, ...args], { cwd: folder, env: oneThread })
}

/**
 * All packages below `folder` as npm's lock file has them: `node_modules/a/node_modules/b` and its
 * version.
 */
export function installedVersions(folder: string): ReadonlyMap<string, string> {
  const files = globSync('**/node_modules/{@*/*,[!@.]*}/package.json', { cwd: folder })
  const own = files.filter((file) =>
    /(^|[\\/])node_modules[\\/](@[^\\/]+[\\/])?[^\\/]+[\\/]package\.json$/.test(file),
  )
  return new Map(
    own.map((file) => {
      const { version } = JSON.parse(readFileSync(join(folder, file), 'utf8'))
      return [dirname(file).replaceAll('\\', '/'), version]
    }),
  )
}
