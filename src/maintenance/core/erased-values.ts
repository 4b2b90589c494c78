/**
 * Which values of erased rows are looked for afterwards. What is short or common is found by
 * chance; so these are ids, addresses and names, and texts that only their rows had.
 */

import { tryParseJson } from '../../values/json.ts'
import { parseTime } from '../../values/time.ts'

/**
 * `own`: theirs wherever it is. `name`: not if another row has it. `text`: not if others contain
 * it.
 */
export type ValueKind = 'own' | 'name' | 'text'
/**
 * `pieces`: one of them is enough. A long text may have been overwritten in part, so it has
 * several.
 */
export type ErasedValue = { readonly kind: ValueKind; readonly pieces: readonly string[] }

/** In characters. */
const minLengths: Readonly<Record<ValueKind, number>> = { own: 12, name: 8, text: 12 }
const minAddress = 7
const minDigits = 9
/** A single word of fewer is a word of the service more often than one of a person. */
const minSingleWord = 20
/** Values beyond are counted and not looked for, so that what is kept in memory has a bound. */
const maxOfVisitor = 100_000

const emailPattern = /^[^\s@]{1,100}@[^\s@]{1,100}\.[^\s@]{2,30}$/
const phonePattern = /^\+?[\d\s()./-]{9,40}$/

export type ErasedValues = {
  readonly values: readonly ErasedValue[]
  /** Too short or too common to be looked for. */
  readonly left: number
}

export function createValueCollector(project: string, maxValues = maxOfVisitor) {
  const values = new Map<string, ErasedValue>()
  const left = new Set<string>()
  const add = (kind: ValueKind, value: string) => {
    const text = value.trim()
    const key = text.toLowerCase()
    if (text === '' || values.has(key) || key === project.toLowerCase()) return
    const pieces = values.size < maxValues && isTelling(kind, text) ? piecesOf(kind, text) : []
    if (pieces.length > 0) values.set(key, { kind, pieces })
    else if (left.size < maxValues) left.add(key)
  }
  const addLeaf = (value: string, isOfVisitor: boolean) => {
    if (isOfVisitor && isAddress(value.trim())) add('own', value)
    else if (parseTime(value) === undefined && !/^[\d.,:\s-]*$/.test(value)) add('text', value)
  }
  return {
    addId: (id: string) => add('own', id),
    /** Of a private column: nobody's row may have it. */
    addPrivate: (column: string, text: string) => {
      const kind = /name$/i.test(column) ? 'name' : 'text'
      add(isAddress(text.trim()) ? 'own' : kind, text)
    },
    /** A row as the database returns it. */
    addRow: (row: Readonly<Record<string, unknown>>, isOfVisitor: boolean) => {
      if (isOfVisitor && typeof row.name === 'string') add('name', row.name)
      for (const [column, value] of Object.entries(row)) {
        if (typeof value !== 'string' || column === 'project_id' || column === 'run_id') continue
        const json = /^\s*[[{]/.test(value) ? tryParseJson(value) : undefined
        if (json === undefined) addLeaf(value, isOfVisitor)
        else for (const leaf of textsIn(json)) addLeaf(leaf, isOfVisitor)
      }
    },
    /** What is added now is counted only. */
    isFull: (): boolean => values.size >= maxValues,
    result: (): ErasedValues => ({ values: [...values.values()], left: left.size }),
  }
}

function* textsIn(json: unknown): Generator<string> {
  if (typeof json === 'string') yield json
  else if (typeof json === 'object' && json !== null)
    for (const value of Object.values(json)) yield* textsIn(value)
}

function isAddress(text: string): boolean {
  if (text.length >= minAddress && emailPattern.test(text)) return true
  return (
    phonePattern.test(text) &&
    text.replaceAll(/\D/g, '').length >= minDigits &&
    parseTime(text) === undefined
  )
}

function isTelling(kind: ValueKind, text: string): boolean {
  if (isAddress(text)) return true
  if (text.length < minLengths[kind]) return false
  return kind === 'own' || /\s/.test(text) || (kind === 'text' && text.length >= minSingleWord)
}

const pieceLength = 48
const pieceDistance = 2000

/**
 * Without what JSON, arrays and SQL write in other ways. Of a long part its beginning, its end, and
 * one every 2,000 characters, as databases break it up.
 */
function piecesOf(kind: ValueKind, text: string): readonly string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes them.
  const parts = text.split(/["\\\u0000-\u001f\u007f\u241b]+/)
  const shortest = isAddress(text) ? minAddress : Math.min(text.length, minLengths[kind])
  return parts.filter((part) => part.length >= shortest).flatMap(piecesOfPart)
}

function piecesOfPart(part: string): readonly string[] {
  if (part.length <= 2 * pieceLength) return [part]
  const last = part.length - pieceLength
  const starts = Array.from(
    { length: Math.ceil(last / pieceDistance) },
    (_, n) => n * pieceDistance,
  )
  return [...starts, last].map((start) => part.slice(start, start + pieceLength))
}
