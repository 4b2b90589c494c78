/** The YAML file: its text as plain values, and the line where each of them is written. */
import { LineCounter, parseDocument } from 'yaml'
import { ConfigurationError } from './mistakes.ts'

export type YamlFile = {
  readonly values: unknown
  /** `deskmirror.yaml:7`; the line of the nearest parent where the path itself is not in the file. */
  readonly at: (path: readonly PropertyKey[]) => string
}

/** Reads the text of a file called `name`. Malformed YAML throws ConfigurationError, which repeats nothing of the text. */
export function readYaml(name: string, text: string): YamlFile {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' })
  const line = (offset: number) => `${name}:${lines.linePos(offset).line}`
  if (document.errors.length > 0) {
    throw new ConfigurationError(
      document.errors.map((error) => ({ where: line(error.pos[0]), why: `is not valid YAML (${words(error.code)})` })),
    )
  }
  const at = (path: readonly PropertyKey[]): string => {
    const node = document.getIn(path, true)
    const range = isRanged(node) ? node.range : undefined
    if (range != null) return line(range[0])
    return path.length === 0 ? name : at(path.slice(0, -1))
  }
  return { values: document.toJS({ maxAliasCount: 20 }), at }
}

/** `BAD_INDENT` → `bad indent`. The library's messages can quote the text, its codes cannot. */
function words(code: string): string {
  return code.toLowerCase().replaceAll('_', ' ')
}

function isRanged(node: unknown): node is { readonly range?: readonly [number, number, number] | null } {
  return typeof node === 'object' && node !== null && 'range' in node
}
