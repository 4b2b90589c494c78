/** The YAML file: its text as plain values, and the line where each of them is written. */
import { type Document, LineCounter, parseDocument, visit } from 'yaml'
import { ConfigurationError, type Mistake } from './mistakes.ts'

export type YamlFile = {
  readonly values: unknown
  /** `deskmirror.yaml:7`; the line of the nearest parent where the path itself is not in the file. */
  readonly at: (path: readonly PropertyKey[]) => string
}

/** Reads the text of a file called `name`. Malformed YAML throws ConfigurationError, which repeats nothing of the text. */
export function readYaml(name: string, text: string): YamlFile {
  const lines = new LineCounter()
  const line = (offset: number) => `${name}:${lines.linePos(offset).line}`
  const document = sound(name, () =>
    parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' }),
  )
  const mistakes = [...malformed(document, line), ...unresolved(document, line)]
  if (mistakes.length > 0) throw new ConfigurationError(mistakes)
  const at = (path: readonly PropertyKey[]): string => {
    const node = document.getIn(path, true)
    const range = isRanged(node) ? node.range : undefined
    if (range != null) return line(range[0])
    return path.length === 0 ? name : at(path.slice(0, -1))
  }
  return { values: sound(name, () => document.toJS({ maxAliasCount: 20 })), at }
}

/** The library gives up on nesting beyond the stack, and on aliases of aliases that would fill the memory. */
function sound<T>(name: string, work: () => T): T {
  try {
    return work()
  } catch {
    const why = 'is nested too deeply, or repeats too much by aliases (*name): write it out'
    throw new ConfigurationError([{ where: name, why }])
  }
}

/** One forgotten bracket may make a mistake of every line behind it. */
const listed = 10

function malformed({ errors }: Document, line: (offset: number) => string): Mistake[] {
  return errors
    .slice(0, listed)
    .map((error) => ({ where: line(error.pos[0]), why: `is not valid YAML (${words(error.code)})` }))
}

/** An alias that stands for nothing may be a secret that begins with `*`. */
function unresolved(document: Document, line: (offset: number) => string): Mistake[] {
  const mistakes: Mistake[] = []
  visit(document, {
    Alias: (_, alias) => {
      if (alias.resolve(document) !== undefined) return
      const why = 'has an alias (*name) without its anchor (&name) before it; text that begins with * belongs in quotes'
      mistakes.push({ where: line(alias.range?.[0] ?? 0), why })
    },
  })
  return mistakes
}

/** `BAD_INDENT` → `bad indent`. The library's messages can quote the text, its codes cannot. */
function words(code: string): string {
  return code.toLowerCase().replaceAll('_', ' ')
}

function isRanged(node: unknown): node is { readonly range?: readonly [number, number, number] | null } {
  return typeof node === 'object' && node !== null && 'range' in node
}
