/** JSON Lines: one wish a line. Blank lines are skipped. */
import { readJson } from '../core/json.ts'
import { readWish } from '../core/outbox/wish.ts'
import { type Line, type LineReader, mistaken } from './line.ts'
import type { TextLine } from './text-lines.ts'

export const jsonLines: LineReader = { take: fromJson, end: () => null }

function fromJson({ line, text, flaw }: TextLine): Line | null {
  if (flaw !== null) return mistaken(line, flaw)
  if (text.trim() === '') return null
  const value = readJson(text)
  return value === undefined ? mistaken(line, 'is not JSON') : { line, read: readWish(value) }
}
