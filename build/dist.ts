/**
 * Builds dist/, the program as the package has it: our code and the packages that every command loads, in a few files
 * instead of hundreds, of which each takes Node.js a third of a millisecond. Types are not checked here.
 */
import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Plugin, rolldown } from 'rolldown'
import { renderLicenses } from './licenses.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = join(root, 'dist')
const require = createRequire(import.meta.url)
const { names: bundled }: { names: readonly string[] } = require('../bin/bundled-packages.js')
const { dependencies }: { dependencies: Readonly<Record<string, string>> } = require('../package.json')

/** The command line, and what runs as a thread or a process of its own. */
const programs = [
  'src/cli/main',
  'src/warehouse/database/sqlite-thread-main',
  'jobs/backends/embedded/thread',
  'jobs/backends/embedded/create-data',
]

/** What the program reads as files. */
const copied = ['schema/openapi.yaml', 'src/console/browser']

rmSync(dist, { recursive: true, force: true })
for (const path of copied) cpSync(join(root, path), join(dist, path), { recursive: true })
const bundle = await rolldown({
  cwd: root,
  input: Object.fromEntries(programs.map((name) => [name, `${name}.ts`])),
  platform: 'node',
  external: isExternal,
  plugins: [keepModuleUrls()],
})
const { output } = await bundle.write({
  dir: dist,
  entryFileNames: '[name].js',
  chunkFileNames: 'chunks/[name]-[hash].js',
})
await bundle.close()
const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
writeFileSync(join(dist, 'THIRD-PARTY-LICENSES'), renderLicenses(modules))

/** The dependencies and Node.js itself; not what the bundler adds, which nobody installs. */
function isExternal(id: string): boolean {
  const name = /^(@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? ''
  return isBuiltin(id) || (name in dependencies && !bundled.includes(name))
}

/** `import.meta.url` keeps its meaning: a module finds threads and files where they would be if it were a file of dist/. */
function keepModuleUrls(): Plugin {
  const placeholder = /MODULE_URL\("(.+?)"\)/g
  return {
    name: 'keep-module-urls',
    transform: (code, id) => {
      const path = relative(root, id).replaceAll('\\', '/').replace(/\.ts$/, '.js')
      return id.startsWith(root) ? code.replaceAll('import.meta.url', `MODULE_URL(${JSON.stringify(path)})`) : null
    },
    renderChunk: (code, { fileName }) =>
      code.replaceAll(placeholder, (_, path: string) => {
        const up = '../'.repeat(fileName.split('/').length - 1)
        return `new URL(${JSON.stringify(`./${up}${path}`)}, import.meta.url).href`
      }),
  }
}
