/**
 * The file `.env`: its assignments, and the lines that are none. A line left out in silence would
 * turn off what a person turned on, so each is read or named. Pure.
 */
import { parseEnv } from 'node:util'
import { trimInvisible } from '../values/invisible.ts'
import type { ConfigProblem } from './problems.ts'
import { variablePrefix } from './setting.ts'

/** `from`, `to`: where its lines stand in the text, with their line ends. */
export type EnvAssignment = {
  readonly name: string
  readonly value: string
  readonly from: number
  readonly to: number
}

/** The quotes of values, which may have several lines between them. */
const quotes = ['"', "'", '`']

const why = {
  noAssignment:
    'is neither a comment nor an assignment: write NAME=value, without `set`, `$env:` or a colon',
  openQuote: 'has a quote that is not closed, or something behind the quote that closes it',
  twoAssignments: 'sets a second variable: give it a line of its own, or quote all of the value',
  notText: 'has a letter that is not UTF-8: save the file as UTF-8',
} as const

/** Where some editors show a new line, and there is none. */
const hiddenBreaks = /[\0\v\f\u0085\u2028\u2029]/
const betweenWords = /[\s;]/

/**
 * Comments and blanks are as in Node.js; characters that nobody sees do not count around names and
 * values. `problems`: never the text of a line, which may be a secret.
 */
export function parseEnvFile(text: string) {
  const assignments: EnvAssignment[] = []
  const problems: ConfigProblem[] = []
  let line = 1
  for (let from = 0; from < text.length; ) {
    const end = endOfLine(text, from)
    const found = readStatement(text, from, end)
    const to = found === null || 'why' in found ? end : found.to
    if (found !== null && 'why' in found) problems.push({ where: `.env:${line}`, why: found.why })
    else if (found !== null) assignments.push(found)
    line += text.slice(from, to).split('\n').length - 1
    from = to
  }
  return { assignments, problems }
}

/** Null: a comment or an empty line. */
function readStatement(
  text: string,
  from: number,
  end: number,
): EnvAssignment | { readonly why: string } | null {
  const line = text.slice(from, end)
  if (isBlankOrComment(line))
    return setsOursBehind(hiddenBreaks, line) ? { why: why.twoAssignments } : null
  if (line.includes('\uFFFD')) return { why: why.notText }
  const equals = line.indexOf('=')
  const name = trimInvisible(line.slice(0, Math.max(0, equals))).replace(/^export\s+/, '')
  if (!/^[A-Za-z_][\w.-]*$/.test(name)) return { why: why.noAssignment }
  const given = trimInvisible(line.slice(equals + 1))
  const [quote = ''] = given
  if (!quotes.includes(quote)) {
    const value = trimInvisible(given.split('#', 1).join(''))
    const isOne = !setsOursBehind(betweenWords, value) && !setsOursBehind(hiddenBreaks, given)
    return isOne ? { name, value, from, to: end } : { why: why.twoAssignments }
  }
  const open = text.indexOf(quote, from + equals)
  const close = text.indexOf(quote, open + 1)
  if (close < 0) return { why: why.openQuote }
  const to = endOfLine(text, close)
  const quoted = text.slice(open, close + 1)
  // Then the quote was forgotten at the end of the first line, and the next quote of the file
  // closes it.
  const swallows = setsOursBehind('\n', quoted)
  if (swallows || !isBlankOrComment(text.slice(close + 1, to))) return { why: why.openQuote }
  if (quoted.includes('\uFFFD')) return { why: why.notText }
  return { name, value: parseEnv(`value=${quoted}`).value ?? '', from, to }
}

function endOfLine(text: string, from: number): number {
  const at = text.indexOf('\n', from)
  return at < 0 ? text.length : at + 1
}

function isBlankOrComment(line: string): boolean {
  const text = trimInvisible(line)
  return text === '' || text.startsWith('#')
}

function setsOursBehind(separator: string | RegExp, text: string): boolean {
  return text.split(separator).slice(1).some(setsOurVariable)
}

function setsOurVariable(line: string): boolean {
  return (
    line.includes('=') &&
    trimInvisible(line)
      .replace(/^export\s+/, '')
      .startsWith(variablePrefix)
  )
}
