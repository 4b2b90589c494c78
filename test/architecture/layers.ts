/** The layer rules: which module may import which. Pure: the texts of all files in, violations out. */

export type SourceFiles = ReadonlyMap<string, string>
type Import = { readonly from: string; readonly what: string; readonly target: string | null }

/** From the bottom up: a module may import itself and the modules named here. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  core: [],
  schema: ['core'],
  log: ['core'],
  config: ['core'],
  streams: ['core'],
  document: ['core'],
  console: ['core', 'document'],
  api: ['core', 'log'],
  warehouse: ['core', 'log', 'schema'],
  'use case': ['core', 'log', 'document', 'streams', 'api', 'warehouse'],
  app: ['core', 'log', 'config', 'streams', 'api', 'warehouse', 'schema', 'use case'],
  http: ['core', 'log', 'config', 'streams', 'document', 'console', 'api', 'warehouse', 'schema', 'use case', 'app'],
  jobs: ['core', 'log', 'config', 'streams', 'api', 'warehouse', 'schema', 'use case', 'app', 'http'],
  sandbox: ['core', 'schema'],
  cli: [
    ...['core', 'log', 'config', 'streams', 'document', 'api', 'warehouse', 'schema'],
    ...['use case', 'app', 'http', 'jobs', 'sandbox'],
  ],
}

/** Folders of `src/` that hold use cases. */
const useCases: readonly string[] = ['sync', 'verify', 'writeback', 'report', 'export']

/** Packages that only some modules may import. */
const packageUsers: Readonly<Record<string, readonly string[]>> = {
  kysely: ['schema', 'warehouse'],
  pg: ['warehouse', 'jobs'],
  'better-sqlite3': ['warehouse'],
  'hyparquet-writer': ['use case'],
  undici: ['api'],
  commander: ['cli'],
  'cron-parser': ['config'],
  fastify: ['http'],
  '@fastify/cookie': ['http'],
  '@fastify/compress': ['http'],
  '@fastify/formbody': ['http'],
  '@fastify/helmet': ['http'],
  '@fastify/multipart': ['http'],
  '@fastify/static': ['http'],
  'd3-scale': ['document'],
  'd3-shape': ['document'],
  'prom-client': ['http'],
  '@bull-board/api': ['jobs'],
  '@bull-board/fastify': ['jobs'],
  '@bull-board/ui': ['jobs'],
  bullmq: ['jobs'],
  ioredis: ['api', 'jobs'],
}

const outsideCore =
  /^(node:(fs|net|http|https|http2|tls|dns|dgram|child_process|worker_threads|timers|os|process)|undici|pg|pino)/
const vagueNames = /(^|\/)(index|utils?|helpers?|types|common|misc|shared)\.ts$/

export function layerViolations(files: SourceFiles): string[] {
  const imports = [...files].flatMap(([file, text]) => importsOf(file, text))
  return [
    ...imports.flatMap(layerViolation),
    ...imports.flatMap(packageViolation),
    ...imports.flatMap((imported) => pathViolation(imported, files)),
    ...[...files].flatMap(([file, text]) => textViolations(file, text)),
    ...importCycles(imports),
  ]
}

function moduleOf(file: string): string {
  const [first = '', second = ''] = file.split('/')
  if (first !== 'src') return first
  const name = second.replace(/\.ts$/, '')
  return useCases.includes(name) ? 'use case' : name
}

function layerViolation({ from, what, target }: Import): string[] {
  if (target === null) return []
  const [importer, imported] = [moduleOf(from), moduleOf(target)]
  const allowed = mayImport[importer]
  if (allowed === undefined) return [`${from}: the layer rules have no module ${importer}`]
  if (importer === imported || allowed.includes(imported)) return []
  return [`${from} imports ${what}: ${importer} may import only ${[importer, ...allowed].join(', ')}`]
}

function packageViolation({ from, what, target }: Import): string[] {
  if (target !== null) return []
  const name = what.startsWith('@') ? what.split('/').slice(0, 2).join('/') : (what.split('/')[0] ?? what)
  const users = packageUsers[name]
  const isMisplaced = users !== undefined && !users.includes(moduleOf(from))
  if (isMisplaced) return [`${from} imports ${what}: only ${users.join(' and ')} may import ${name}`]
  const isImpure = moduleOf(from) === 'core' && outsideCore.test(what)
  return isImpure ? [`${from} imports ${what}: core has no I/O`] : []
}

function pathViolation({ from, what, target }: Import, files: SourceFiles): string[] {
  if (target === null) return []
  if (!/\.(ts|json)$/.test(what)) return [`${from} imports ${what}: write the file's extension`]
  return files.has(target) || target.endsWith('.json') ? [] : [`${from} imports ${what}: there is no such file`]
}

function textViolations(file: string, text: string): string[] {
  const code = withoutComments(text)
  const found: string[] = []
  if (vagueNames.test(file)) found.push(`${file}: a vague name; name the file after what it contains`)
  if (file !== 'src/config/load.ts' && /\bprocess\s*(\.|\[\s*['"])env\b/.test(code)) {
    found.push(`${file} reads process.env: only src/config/load.ts may`)
  }
  const clock = /\b(Date\.now|performance\.now|Math\.random|setTimeout|setInterval|new Date\(\))/.exec(code)
  if (moduleOf(file) === 'core' && clock !== null) found.push(`${file} uses ${clock[0]}: core has no clock, no random`)
  return found
}

function importsOf(file: string, text: string): Import[] {
  const pattern = /(?:^\s*(?:import|export)\b[^'"`;]*?\bfrom\s*|^\s*import\s*|\bimport\s*\(\s*)(['"])([^'"]+)\1/gm
  return [...withoutComments(text).matchAll(pattern)].map(([, , what = '']) => ({
    from: file,
    what,
    target: what.startsWith('.') ? resolvePath(file, what) : null,
  }))
}

function resolvePath(file: string, relative: string): string {
  return new URL(relative, `file:///${file}`).pathname.slice(1)
}

/** Every cycle once, by the file that closes it. Imports of types count: they couple modules just the same. */
function importCycles(imports: readonly Import[]): string[] {
  const edges = Map.groupBy(imports, ({ from }) => from)
  const done = new Set<string>()
  const found: string[] = []
  const visit = (file: string, path: readonly string[]) => {
    const start = path.indexOf(file)
    if (start >= 0) found.push(`a cycle: ${[...path.slice(start), file].join(' → ')}`)
    if (start >= 0 || done.has(file)) return
    for (const { target } of edges.get(file) ?? []) if (target !== null) visit(target, [...path, file])
    done.add(file)
  }
  for (const file of edges.keys()) visit(file, [])
  return found
}

/** Good enough for this code: a `//` within a string counts as a comment only after white space. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1')
}
