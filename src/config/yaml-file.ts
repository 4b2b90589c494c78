/** The YAML file: its text as plain values, and the line of each value. */
import { createRequire } from 'node:module'
import type { Document } from 'yaml'
import { type ConfigProblem, ConfigurationError } from './problems.ts'

/** Loaded only for a file: it takes some tens of milliseconds, in every command. */
export const loadYaml = (): typeof import('yaml') => createRequire(import.meta.url)('yaml')

export type YamlFile = ReturnType<typeof parseYaml>

/** Throws ConfigurationError, which repeats nothing of the text. `name`: of the file. */
export function parseYaml(name: string, text: string) {
  const { isNode, LineCounter, parseDocument } = loadYaml()
  const counter = new LineCounter()
  const lineAt = (offset: number) => `${name}:${counter.linePos(offset).line}`
  const document = withYamlLimits(name, () =>
    parseDocument(text, {
      lineCounter: counter,
      prettyErrors: false,
      logLevel: 'error',
      uniqueKeys: false,
    }),
  )
  const problems = [...syntaxProblems(document, lineAt), ...nodeProblems(document, lineAt)]
  if (problems.length > 0) throw new ConfigurationError(problems)
  /** `deskmirror.yaml:7`; the line of the nearest parent if the path is not in the file. */
  const locate = (path: readonly PropertyKey[]): string => {
    const node = document.getIn(path, true)
    if (isNode(node) && node.range != null) return lineAt(node.range[0])
    return path.length === 0 ? name : locate(path.slice(0, -1))
  }
  const values: unknown = withYamlLimits(name, () => document.toJS({ maxAliasCount: 20 }))
  return { values, locate }
}

/** The library throws on very deep nesting, and on nested aliases that would exhaust the memory. */
function withYamlLimits<T>(name: string, work: () => T): T {
  const { stackTraceLimit } = Error
  try {
    // The library makes an error for each wrong letter of a file that is no YAML; their stacks
    // would take seconds.
    Error.stackTraceLimit = 0
    return work()
  } catch {
    const why = 'is nested too deeply, or expands too many aliases (*name): write the values out'
    throw new ConfigurationError([{ where: name, why }])
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** One forgotten bracket may cause an error in every later line. */
const maxListed = 10

function syntaxProblems({ errors }: Document, line: (offset: number) => string): ConfigProblem[] {
  return errors.slice(0, maxListed).map(({ pos, code }) => {
    // `BAD_INDENT` → `bad indent`. The library's messages can quote the text, its codes cannot.
    return {
      where: line(pos[0]),
      why: `is not valid YAML (${code.toLowerCase().replaceAll('_', ' ')})`,
    }
  })
}

/**
 * Repeated keys, which the library compares pair by pair; and aliases without an anchor, which may
 * be secrets that begin with `*`.
 */
function nodeProblems(document: Document, line: (offset: number) => string): ConfigProblem[] {
  const problems: ConfigProblem[] = []
  const anchors = new Set<string>()
  const { visit, isMap, isScalar } = loadYaml()
  visit(document, {
    Value: (_, node) => {
      if (node.anchor !== undefined) anchors.add(node.anchor)
      const keys = new Set<unknown>()
      for (const { key } of isMap(node) ? node.items : []) {
        if (!isScalar(key) || key.value === '<<') continue
        if (keys.has(key.value) && problems.length < maxListed)
          problems.push({
            where: line(key.range?.[0] ?? 0),
            why: 'is not valid YAML (duplicate key)',
          })
        keys.add(key.value)
      }
    },
    Alias: (_, alias) => {
      if (anchors.has(alias.source)) return
      if (problems.length === maxListed) return visit.BREAK
      const why =
        'has an alias (*name) without an anchor (&name) before it; put ' +
        'text that begins with * in quotes'
      problems.push({ where: line(alias.range?.[0] ?? 0), why })
    },
  })
  return problems
}
