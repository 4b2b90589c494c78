/**
 * Compiles the program on a fresh clone, for the processes of the tests and for those of the
 * program itself.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '../..')
const script = join(import.meta.dirname, 'compile-sources.ts')
/** What later runs need not make again. */
export const ownCache = join(root, 'node_modules/.cache/deskmirror')

/** Compiled code of the tests: the program's own has other flags. */
export const compileCache = join(ownCache, 'compiled')

export async function compileOnce(): Promise<void> {
  if (existsSync(compileCache)) return
  const asProgram = `require('./bin/run-program.js').runProgram(${JSON.stringify(script)}, ${JSON.stringify(root)})`
  const run = (args: readonly string[], env: NodeJS.ProcessEnv) =>
    promisify(execFile)(process.execPath, args, { cwd: root, env: { ...process.env, ...env } })
  await Promise.all([
    run([script], { NODE_COMPILE_CACHE: compileCache }),
    run(['-e', asProgram], {}),
  ])
}
