/** A checkout loads packages of hundreds of files from copies of a single file, if these are of the installed version. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { createTempFolder } from '../support/temp-folder.ts'
import { cleanEnvironment } from './run-process.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** What the program of a checkout loads, where these versions are. */
function loadedBy({ installed, copy }: { readonly installed: string; readonly copy: string | null }): string {
  const folder = createTempFolder()
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  cpSync(join(root, 'bin'), join(folder, 'bin'), { recursive: true })
  write('package.json', '{ "type": "module" }')
  write('src/cli/main.ts', "import { source } from 'kysely'\nprocess.stdout.write(source)")
  write('node_modules/kysely/package.json', `{ "version": "${installed}", "type": "module", "exports": "./index.js" }`)
  write('node_modules/kysely/index.js', "export const source = 'the package'")
  if (copy !== null) write(`node_modules/.cache/deskmirror/kysely-${copy}.mjs`, "export const source = 'the copy'")
  return execFileSync(process.execPath, [join(folder, 'bin', 'deskmirror.js')], {
    env: cleanEnvironment(),
    encoding: 'utf8',
  })
}

test.each([
  { installed: '1.0.0', copy: '1.0.0', loads: 'the copy' },
  { installed: '1.0.1', copy: '1.0.0', loads: 'the package' },
  { installed: '1.0.0', copy: null, loads: 'the package' },
])('with version $installed and a copy of $copy it loads $loads', ({ installed, copy, loads }) => {
  expect(loadedBy({ installed, copy })).toBe(loads)
})

test('installing makes copies that export what the packages do', async () => {
  const folder = createTempFolder()
  mkdirSync(join(folder, 'node_modules'))
  const names = ['kysely', 'zod']
  for (const name of names) symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  execFileSync(process.execPath, [join(root, 'bin', 'bundle-packages.mjs'), folder])
  for (const name of names) {
    const { version } = JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8'))
    const copy = join(folder, 'node_modules', '.cache', 'deskmirror', `${name}-${version}.mjs`)
    expect(Object.keys(await import(copy)).sort()).toEqual(Object.keys(await import(name)).sort())
  }
})
