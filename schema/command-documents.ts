/** The JSON documents of the commands: the declarations of their types, from the sources. */
import { globSync, readFileSync } from 'node:fs'

export const commandDocuments: Readonly<Record<string, string>> = {
  check: '{ projects: { project: string | null, items: CheckItem[] }[] }',
  sync: '{ projects: SyncReport[] }',
  'writeback add': 'AddWritebackReport',
  'writeback import': 'ImportReport, with { review: ReviewSummary }; with --dry-run: DryRunReport',
  'writeback list': 'ListWritebacksReport',
  'writeback show': 'ShowWritebackReport',
  'writeback batches': 'BatchesReport',
  'writeback batches show': 'BatchReport & { review: ReviewSummary }',
  'writeback approve': 'DecisionReport; with --digest: DecisionReport | SelectionMismatch',
  'writeback undo': 'DecisionReport',
  'writeback stop': 'BatchDecisionReport',
  'writeback resume': 'BatchDecisionReport',
  'writeback cancel': 'DecisionReport',
  'writeback retry': 'DecisionReport',
  'writeback resolve': 'DecisionReport',
  'writeback revert': 'RevertReport',
  push: '{ projects: PushReport[] }',
  console: '{ link: string, answers: boolean }',
  status:
    '{ versions: { program: string, schema: string, commit: string | null }, projects: ' +
    '(StatusReport & { readOnly: boolean, columns: ColumnRule[], history: string[], lakes: LakeStatus[] })[] }',
  report: '{ projects: Report[] }',
  verify:
    '{ projects: VerifyDocument[] }; with --against: { projects: DigestComparison[] }; ' +
    'with --private: { projects: PrivateReport[] }',
  audit: '{ projects: AuditReport[] }',
  export: 'ExportReport',
  token: '{ project: string, token: string, expiresAt: string | null, answer: unknown }',
  migrate:
    'MigrationSummary; with --grant: MigrationSummary & GrantReport; with ' +
    '--rebuild-analytics: { projects: FactsRebuildReport[] }',
  move: 'MoveReport; with --source-lost: AcceptedMove',
  erase: 'EraseReport | EraseProjectReport',
  demo: '{ passes: SyncReport[], pushed: PushReport, tables: object[], questions: object[] }',
}

/** The declarations that the documents name, and all that these name in turn. */
export function readTypes(root: URL): readonly string[] {
  const urls = globSync('{src,schema}/**/*.ts', { cwd: root.pathname }).map(
    (path) => new URL(path, root),
  )
  const files = new Map(urls.map((url) => [url.href, parseFile(url)]))
  const found = new Map<string, string>()
  /** The file that declares the name; the front file of a module only names it. */
  const declaring = (name: string, href: string): string | undefined => {
    const file = files.get(href)
    if (file === undefined || file.declarations.has(name)) return file && href
    const from = file.imports.get(name)
    return from && declaring(name, from)
  }
  const visit = (text: string, href: string) => {
    for (const [name] of text.replace(/\/\*[\s\S]*?\*\//g, '').matchAll(/\b[A-Za-z]\w*/g)) {
      const from = declaring(name, href) ?? ''
      const declaration = files.get(from)?.declarations.get(name)
      if (declaration === undefined || found.has(`${name} ${from}`)) continue
      found.set(`${name} ${from}`, declaration)
      visit(declaration, from)
    }
  }
  const named = Object.values(commandDocuments)
    .join(' ')
    .match(/\b[A-Z]\w+/g)
  for (const name of new Set(named)) {
    const [href] =
      [...files].find(
        ([href, { declarations }]) => href.includes('/src/') && declarations.has(name),
      ) ?? []
    if (href === undefined) throw new Error(`no file declares the type ${name}`)
    visit(name, href)
  }
  // `is` tells apart types of the same values.
  return [...found.values()].map((text) =>
    text.replaceAll(/^export |\breadonly | & \{ readonly is\?: '\w+' \}/gm, ''),
  )
}

/** Types, and the lists of texts that types are made of, each with the comment above it. */
function parseFile(url: URL) {
  const text = readFileSync(url, 'utf8')
  const declarations = new Map<string, string>()
  const blocks = text.split(/\n\n|\n(?=export |type |const |\/\*\*)/)
  let comment = ''
  for (const block of blocks) {
    const [, kind, name = ''] = /^(?:export )?(type|const) (\w+)/.exec(block) ?? []
    const keyOf = /^(?:export )?type \w+ = keyof (?:typeof )?(\w+)$/.exec(block)?.[1]
    if (keyOf !== undefined)
      declarations.set(name, `${comment}type ${name} = ${keysOf(blocks, keyOf)}`)
    else if (
      kind === 'type'
        ? !/\binfer\b|keyof/.test(block)
        : block.includes(' = [') && block.endsWith('] as const')
    )
      declarations.set(name, `${comment}${block.trimEnd()}`)
    comment = block.startsWith('/**') && block.endsWith('*/') ? `${block}\n` : ''
  }
  const imports = [...text.matchAll(/^(?:import|export) (?:type )?\{([^{}]*)\} from '(\.[^']*)'/gm)]
  const names = imports.flatMap(([, names = '', path = '']) =>
    names
      .split(',')
      .map((name) => [name.replace('type ', '').trim(), new URL(path, url).href] as const),
  )
  return { declarations, imports: new Map(names) }
}

/** The keys of a constant, or of the type of one, as a union. */
function keysOf(blocks: readonly string[], name: string): string {
  const alias = blocks
    .map((block) => /^type (\w+) = typeof (\w+)$/.exec(block))
    .find((found) => found?.[1] === name)
  const start = `const ${alias?.[2] ?? name} = {`
  const constant = blocks.findIndex(
    (block) => block.startsWith(start) || block.startsWith(`export ${start}`),
  )
  const body = blocks.slice(constant).join('\n').split('\n}')[0] ?? ''
  return [...body.matchAll(/^ {2}(\w+):/gm)].map(([, key]) => `'${key}'`).join(' | ')
}
