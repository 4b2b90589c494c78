/**
 * Mistakes counted by kind, as a person corrects a kind, not a row; that needs little memory for
 * any file. Pure.
 */

import { mistakeText } from '../outbox/core/writeback-request.ts'
import type { RequestMistake } from '../outbox/outbox.ts'

/** One kind of mistake, in all rows that have it. */
export type MistakeKind = Omit<RequestMistake, 'found'> & {
  readonly count: number
  /** The most frequent values, with their counts. */
  readonly found: readonly { readonly value: string; readonly count: number }[]
  /** How many rows have other values. */
  readonly foundOthers: number
  /** The first rows, as the spreadsheet numbers them. */
  readonly rows: readonly { readonly from: number; readonly to: number }[]
  /** The refs of the first rows that have one. */
  readonly refs: readonly string[]
}

/** What a person reads of a kind. */
const maxValues = 5
const maxRanges = 20
const maxRefs = 5
/**
 * What is counted exactly. A file that is no import at all may have a kind and a value in each row.
 */
const maxCountedValues = 1000
const maxKinds = 100

type OpenKind = ReturnType<typeof openKind>

function openKind({ field, why, override }: Omit<RequestMistake, 'found'>) {
  const rows: { from: number; to: number }[] = []
  const refs: string[] = []
  return {
    field,
    why,
    override,
    count: 0,
    values: new Map<string, number>(),
    withValue: 0,
    rows,
    refs,
  }
}

const otherMistakes = { field: null, why: 'has other mistakes', override: null }

export function createMistakeCounter() {
  const kinds = new Map<string, OpenKind>()
  return {
    add(row: number, ref: string | null, mistakes: readonly RequestMistake[]): void {
      for (const mistake of mistakes) {
        const isKnown = kinds.has(mistakeText(mistake)) || kinds.size < maxKinds
        const key = mistakeText(isKnown ? mistake : otherMistakes)
        const kind = kinds.get(key) ?? openKind(isKnown ? mistake : otherMistakes)
        kinds.set(key, kind)
        addTo(kind, row, ref, mistake.found)
      }
    },
    /** The most frequent first. */
    kinds: (): readonly MistakeKind[] =>
      [...kinds.values()].map(toKind).sort((a, b) => b.count - a.count),
  }
}

function addTo(kind: OpenKind, row: number, ref: string | null, found: string | null): void {
  const isNewRow = kind.rows.at(-1)?.to !== row
  if (isNewRow) kind.count += 1
  if (isNewRow) addRow(kind.rows, row)
  if (isNewRow && ref !== null && kind.refs.length < maxRefs && !kind.refs.includes(ref))
    kind.refs.push(ref)
  if (found === null) return
  kind.withValue += 1
  const count = kind.values.get(found)
  if (count !== undefined || kind.values.size < maxCountedValues)
    kind.values.set(found, (count ?? 0) + 1)
}

function addRow(ranges: { from: number; to: number }[], row: number): void {
  const last = ranges.at(-1)
  if (last !== undefined && last.to === row - 1) last.to = row
  else if (ranges.length < maxRanges) ranges.push({ from: row, to: row })
}

function toKind({ values, withValue, ...kind }: OpenKind): MistakeKind {
  const found = [...values]
    .map(([value, times]) => ({ value, count: times }))
    .sort((a, b) => b.count - a.count)
    .slice(0, maxValues)
  const shown = found.reduce((sum, { count: times }) => sum + times, 0)
  return { ...kind, found, foundOthers: withValue - shown }
}

/** `2–31, 40`; ends with an ellipsis if there are more rows than these. */
export function formatRows(ranges: MistakeKind['rows'], count: number): string {
  const listed = ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0)
  const texts = ranges.map(({ from, to }) => (from === to ? String(from) : `${from}–${to}`))
  return [...texts, ...(listed < count ? ['…'] : [])].join(', ')
}
