/** One line of an import, read: where it stands, and what it wishes for. */
import type { ReadWish } from '../core/outbox/wish.ts'
import type { TextLine } from './text-lines.ts'

/** `line`: the physical line where it begins, from 1. */
export type Line = { readonly line: number; readonly read: ReadWish }

/** Takes a file's physical lines, one after another, and gives a line of the import where one is complete. */
export type LineReader = {
  readonly take: (line: TextLine) => Line | null
  /** What is left open at the end of the file. */
  readonly end: () => Line | null
}

export function mistaken(line: number, ...why: string[]): Line {
  return { line, read: { ok: false, why } }
}
