/** Packs this project and installs the package into an empty folder, as users do. */
import { execFile } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

/** npm's variables about this project would mislead an npm that works in another folder. */
const keptVariables = /^npm_config_(registry|cache|userconfig|globalconfig)$/
export const userEnvironment = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(npm_|DESKMIRROR_|INIT_CWD)/.test(name) || keptVariables.test(name),
  ),
)

/** `others`: installed beside it. Returns the folder of the package. */
export async function installPackage(folder: string, others: readonly string[] = []): Promise<string> {
  const env = userEnvironment
  await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: root, env })
  const [tarball = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  const quietOptions = ['--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline']
  await run('npm', ['install', ...quietOptions, `./${tarball}`, ...others], { cwd: folder, env })
  return join(folder, 'node_modules', 'deskmirror')
}
