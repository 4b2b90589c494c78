/** Finds every regular expression literal of a source text. */

export type Expression = { readonly source: string; readonly flags: string; readonly line: number }

/** The code before a slash that starts an expression, as opposed to a division. */
const before = /(?:^|[(,=:[!&|?{};+<>]|\breturn)\s*$/

/**
 * Expression literals, in order. Skips comments, strings and templates, but reads the code within
 * `${}`.
 */
export function expressionsIn(text: string): Expression[] {
  const found: Expression[] = []
  let line = ''
  for (let at = 0; at < text.length; ) {
    const pair = text.slice(at, at + 2)
    const letter = text[at] ?? ''
    if (pair === '//') at = endOf(text, at, '\n')
    else if (pair === '/*') at = endOf(text, at + 2, '*/') + 2
    else if (letter === "'" || letter === '"')
      [line, at] = [`${line}''`, closing(text, at + 1, letter)]
    else if (letter === '`') {
      const { end, inner } = template(text, at + 1)
      for (const code of inner) found.push(...expressionsIn(code))
      ;[line, at] = [`${line}''`, end]
    } else if (letter === '/' && before.test(line)) {
      const end = expressionEnd(text, at + 1)
      const flags = /^[a-z]*/.exec(text.slice(end))?.[0] ?? ''
      found.push({
        source: text.slice(at + 1, end - 1),
        flags,
        line: text.slice(0, at).split('\n').length,
      })
      ;[line, at] = [`${line}''`, end + flags.length]
    } else {
      line = letter === '\n' ? line.slice(-20) : line + letter
      at += 1
    }
  }
  return found
}

function endOf(text: string, from: number, mark: string): number {
  const at = text.indexOf(mark, from)
  return at === -1 ? text.length : at
}

function closing(text: string, from: number, quote: string): number {
  let at = from
  for (; at < text.length && text[at] !== quote; at++) if (text[at] === '\\') at += 1
  return at + 1
}

/** A template's end, and the code within it: templates may be nested. */
function template(text: string, from: number): { end: number; inner: string[] } {
  const inner: string[] = []
  let at = from
  for (; at < text.length && text[at] !== '`'; at++) {
    if (text[at] === '\\') at += 1
    else if (text.startsWith('${', at)) {
      const end = braceEnd(text, at + 2)
      inner.push(text.slice(at + 2, end))
      at = end
    }
  }
  return { end: at + 1, inner }
}

function braceEnd(text: string, from: number): number {
  let [at, depth] = [from, 0]
  for (; at < text.length && (text[at] !== '}' || depth > 0); at++) {
    const letter = text[at] ?? ''
    if (letter === '`') at = template(text, at + 1).end - 1
    else if (letter === "'" || letter === '"') at = closing(text, at + 1, letter) - 1
    else if (letter === '{') depth += 1
    else if (letter === '}') depth -= 1
  }
  return at
}

function expressionEnd(text: string, from: number): number {
  let [at, inClass] = [from, false]
  for (; at < text.length && (text[at] !== '/' || inClass); at++) {
    if (text[at] === '\\') at += 1
    else if (text[at] === '[') inClass = true
    else if (text[at] === ']') inClass = false
  }
  return at + 1
}
