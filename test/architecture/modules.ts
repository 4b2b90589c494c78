/**
 * The rules of modules: which may import which, and where decisions, SQL and packages may be. Pure:
 * texts in, violations out.
 */

export type SourceFiles = ReadonlyMap<string, string>
/** `names`: what is imported, by its name there. */
type Import = {
  readonly from: string
  readonly what: string
  readonly target: string | null
  readonly names: readonly { readonly name: string; readonly isType: boolean }[]
}

const bottom = ['values', 'log', 'schema', 'config']
const features = ['mirror', 'outbox', 'imports', 'analytics', 'export', 'maintenance']

/** From the bottom up: a module may import itself and the modules named here. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  values: [],
  log: ['values'],
  schema: ['values'],
  config: ['values', 'log', 'schema'],
  document: ['values'],
  sandbox: ['values', 'schema'],
  warehouse: [...bottom],
  service: [...bottom, 'warehouse'],
  mirror: [...bottom, 'warehouse', 'service'],
  analytics: [...bottom, 'warehouse', 'mirror', 'document'],
  export: [...bottom, 'warehouse', 'mirror', 'analytics'],
  outbox: [...bottom, 'warehouse', 'service', 'mirror'],
  imports: [...bottom, 'warehouse', 'export', 'outbox'],
  maintenance: [...bottom, 'warehouse', 'service', 'mirror', 'outbox', 'analytics'],
  app: [...bottom, 'warehouse', 'service', 'document', ...features],
  http: [...bottom, 'app', 'warehouse', 'service', ...features],
  console: [...bottom, 'app', 'warehouse', 'service', 'document', ...features, 'http'],
  mcp: [...bottom, 'app', 'warehouse', 'service', ...features, 'console'],
  worker: [...bottom, 'app', 'warehouse', 'service', ...features, 'http'],
  jobs: [...bottom, 'app', 'warehouse', 'service', ...features, 'http', 'console', 'worker'],
  cli: [
    ...bottom,
    'app',
    'warehouse',
    'service',
    'document',
    ...features,
    'http',
    'console',
    'mcp',
    'worker',
    'jobs',
    'sandbox',
  ],
  build: [...bottom, 'analytics', 'http', 'cli'],
}

/**
 * Modules of which others may import every file; of any other, what its front file names, which has
 * the module's name.
 */
const withoutFront: readonly string[] = [
  ...bottom,
  'document',
  'sandbox',
  'warehouse',
  'service',
  'app',
  'jobs',
]

/**
 * Packages that only some modules may import. SQL is written with kysely in `warehouse`, `schema`,
 * and in folders `sql` and `views`.
 */
const packageUsers: Readonly<Record<string, readonly string[]>> = {
  kysely: ['schema', 'warehouse', 'sql', 'views'],
  pg: ['warehouse', 'jobs'],
  'better-sqlite3': ['warehouse', 'export'],
  'hyparquet-writer': ['export'],
  hucre: ['export', 'imports'],
  fflate: ['imports'],
  undici: ['service'],
  commander: ['cli', 'build'],
  '@modelcontextprotocol/server': ['mcp'],
  'cron-parser': ['config'],
  fastify: ['http', 'console'],
  '@fastify/cookie': ['http', 'console'],
  '@fastify/compress': ['http', 'console'],
  '@fastify/formbody': ['http', 'console'],
  '@fastify/helmet': ['http', 'console'],
  '@fastify/multipart': ['http', 'console'],
  '@fastify/static': ['http', 'console'],
  'd3-scale': ['document'],
  'd3-shape': ['document'],
  'prom-client': ['http'],
  '@bull-board/api': ['jobs'],
  '@bull-board/fastify': ['jobs'],
  '@bull-board/ui': ['jobs'],
  bullmq: ['jobs'],
  ioredis: ['service', 'jobs'],
}

const outsideCore =
  /^(node:(fs|net|http|https|http2|tls|dns|dgram|child_process|worker_threads|timers|os|process)|undici|pg|pino)/
const vagueNames = /(^|\/)(index|utils?|helpers?|types|common|misc|shared)\.ts$/

export function moduleViolations(files: SourceFiles): string[] {
  const imports = [...files].flatMap(([file, text]) => importsOf(file, text))
  return [
    ...imports.flatMap(moduleViolation),
    ...frontViolations(imports),
    ...imports.flatMap(coreViolation),
    ...imports.flatMap(packageViolation),
    ...imports.flatMap((imported) => pathViolation(imported, files)),
    ...[...files].flatMap(([file, text]) => textViolations(file, text)),
    ...importCycles(imports),
    ...fanOutViolations(imports),
  ]
}

function moduleOf(file: string): string {
  const [first = '', second = ''] = file.split('/')
  if (first !== 'src') return first
  return second.replace(/\.ts$/, '')
}

function moduleViolation({ from, what, target }: Import): string[] {
  if (target === null) return []
  const [importer, imported] = [moduleOf(from), moduleOf(target)]
  const allowed = mayImport[importer]
  if (allowed === undefined) return [`${from}: the rules have no module ${importer}`]
  if (importer === imported || allowed.includes(imported)) return []
  return [
    `${from} imports ${what}: ${importer} may import only ${[importer, ...allowed].join(', ')}`,
  ]
}

/**
 * Values are imported from the files that a front names, as the front itself would load its whole
 * module. `build` makes documents of what the modules contain.
 */
function frontViolations(imports: readonly Import[]): string[] {
  const named = imports.filter(({ from }) => from === frontOf(from))
  const places = new Map(
    named.flatMap(({ from, target, names }) =>
      names.map(({ name }) => [`${from} ${name}`, target]),
    ),
  )
  return imports.flatMap(({ from, what, target, names }) => {
    if (target === null || [moduleOf(target), 'build'].includes(moduleOf(from))) return []
    if (withoutFront.includes(moduleOf(target))) return []
    const front = frontOf(target)
    const placeOf = (name: string) => places.get(`${front} ${name}`)
    if (target !== front) {
      const isNamed =
        names.length > 0
          ? names.every(({ name }) => placeOf(name) === target)
          : named.some((export_) => export_.from === front && export_.target === target)
      return isNamed
        ? []
        : [
            `${from} imports ${what}: of ${moduleOf(target)}, others import only what ${front} names`,
          ]
    }
    const loading = names.find(({ name, isType }) => !isType && placeOf(name) !== undefined)
    return loading === undefined
      ? []
      : [`${from} imports ${loading.name} from ${what}: import it from ${placeOf(loading.name)}`]
  })
}

function frontOf(file: string): string {
  const name = moduleOf(file)
  return `src/${name}/${name}.ts`
}

function packageViolation({ from, what, target }: Import): string[] {
  if (target !== null) return []
  const name = what.startsWith('@')
    ? what.split('/').slice(0, 2).join('/')
    : (what.split('/')[0] ?? what)
  const users = packageUsers[name]
  const places = [moduleOf(from), ...from.split('/').slice(2, -1)]
  const isMisplaced = users !== undefined && !places.some((place) => users.includes(place))
  if (isMisplaced)
    return [`${from} imports ${what}: only ${users.join(' and ')} may import ${name}`]
  return isPure(from) && outsideCore.test(what)
    ? [`${from} imports ${what}: a decision has no I/O`]
    : []
}

/** Values, and the decisions of a module, which are in its folder `core`. */
function isPure(file: string): boolean {
  return moduleOf(file) === 'values' || file.split('/')[2] === 'core'
}

function coreViolation({ from, what, target }: Import): string[] {
  if (target === null || !isPure(from) || isPure(target)) return []
  if (['schema', 'config', 'document'].includes(moduleOf(target)) || target === frontOf(target))
    return []
  return [`${from} imports ${what}: a decision imports only decisions and values`]
}

function pathViolation({ from, what, target }: Import, files: SourceFiles): string[] {
  if (target === null) return []
  if (!/\.(ts|json)$/.test(what)) return [`${from} imports ${what}: write the file's extension`]
  return files.has(target) || target.endsWith('.json')
    ? []
    : [`${from} imports ${what}: there is no such file`]
}

function textViolations(file: string, text: string): string[] {
  const code = withoutComments(text)
  const found: string[] = []
  if (vagueNames.test(file))
    found.push(`${file}: a vague name; name the file after what it contains`)
  if (file !== 'src/config/load.ts' && /\bprocess\s*(\.|\[\s*['"])env\b/.test(code)) {
    found.push(`${file} reads process.env: only src/config/load.ts may`)
  }
  const clock =
    /\b(Date\.now|performance\.now|Math\.random|setTimeout|setInterval|new Date\(\))/.exec(code)
  if (isPure(file) && clock !== null)
    found.push(`${file} uses ${clock[0]}: a decision has no clock, no random`)
  return found
}

function importsOf(file: string, text: string): Import[] {
  const pattern =
    /(?:^\s*(?:import|export)\b([^'"`;]*?)\bfrom\s*|^\s*import\s*|\bimport\s*\(\s*)(['"])([^'"]+)\2/gm
  return [...withoutComments(text).matchAll(pattern)].map(([, clause = '', , what = '']) => ({
    from: file,
    what,
    target: what.startsWith('.') ? resolvePath(file, what) : null,
    names: namesOf(clause),
  }))
}

function namesOf(clause: string): Import['names'] {
  const [before = '', list = ''] = clause.split(/[{}]/)
  const names = [...list.matchAll(/(type\s+)?(\w+)(\s+as\s+\w+)?\s*(,|$)/g)]
  return names.map(([, type, name = '']) => ({
    name,
    isType: type !== undefined || /^\s*type\b/.test(before),
  }))
}

function resolvePath(file: string, relative: string): string {
  return new URL(relative, `file:///${file}`).pathname.slice(1)
}

const maxFanOut = 20

/** Who must know more files to read one: it does two things, or reaches into details. */
function fanOutViolations(imports: readonly Import[]): string[] {
  return [...Map.groupBy(imports, ({ from }) => from)].flatMap(([file, own]) => {
    const { size } = new Set(own.flatMap(({ target }) => target ?? []))
    return size > maxFanOut ? [`${file} imports ${size} files: at most ${maxFanOut}`] : []
  })
}

/**
 * Every cycle once, by the file that closes it. Imports of types count: they couple modules just
 * the same.
 */
function importCycles(imports: readonly Import[]): string[] {
  const edges = Map.groupBy(imports, ({ from }) => from)
  const done = new Set<string>()
  const found: string[] = []
  const visit = (file: string, path: readonly string[]) => {
    const start = path.indexOf(file)
    if (start >= 0) found.push(`a cycle: ${[...path.slice(start), file].join(' → ')}`)
    if (start >= 0 || done.has(file)) return
    for (const { target } of edges.get(file) ?? [])
      if (target !== null) visit(target, [...path, file])
    done.add(file)
  }
  for (const file of edges.keys()) visit(file, [])
  return found
}

/** Good enough for this code: a `//` within a string counts as a comment only after white space. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1')
}
