/** What was found of erased values, and where. */
import type { ErasedValue, ValueKind } from './erased-values.ts'

/** A place that still has erased values. */
export type Remains = {
  readonly place: string
  /** How many of the values are there; null: some may be, and cannot be counted. */
  readonly values: number | null
  readonly why: string
  /** What removes them; null: no command does. */
  readonly command: string | null
}

/**
 * `ofOthers`: it has rows of other people, so common texts; `'all'`: whatever it has is theirs.
 * `isKept`: it has ids on purpose.
 */
export type Place = Pick<Remains, 'place' | 'why' | 'command'> & {
  readonly ofOthers?: true | 'all'
  readonly isKept?: true
}

/** A piece of a value, by which it is found. */
export type Piece = { readonly text: string; readonly value: number; readonly kind: ValueKind }

export function piecesOf(values: readonly ErasedValue[]): readonly Piece[] {
  return values.flatMap(({ kind, pieces }, value) => pieces.map((text) => ({ text, value, kind })))
}

/** Counts what is found in tables, by the numbers of the pieces. */
export function createTally(pieces: readonly Piece[]) {
  const found = new Map<string, { readonly place: Place; readonly pieces: Set<number> }>()
  const inTables = new Set<number>()
  const kept = new Set<number>()
  const common = new Set<number>()
  const valuesOf = (numbers: Iterable<number>) =>
    new Set([...numbers].flatMap((n) => pieces[n]?.value ?? []))
  const others = (without: ReadonlySet<number>) => [...pieces.keys()].filter((n) => !without.has(n))
  return {
    /**
     * `whole`: all of a cell, or of a text in its JSON. `longer`: a part of a longer word. True: the
     * piece is common, so that it need not be found again.
     */
    add: (place: Place, piece: number, match: 'whole' | 'part' | 'longer'): boolean => {
      const known = place.isKept ? kept : inTables
      known.add(piece)
      if (match === 'longer') return false
      const at = found.get(place.place) ?? { place, pieces: new Set() }
      found.set(place.place, at)
      at.pieces.add(piece)
      const kind = pieces[piece]?.kind
      const isCommon =
        place.ofOthers === 'all' ||
        (place.ofOthers === true && (kind === 'text' || (kind === 'name' && match === 'whole')))
      if (isCommon) common.add(piece)
      return isCommon
    },
    /** Without those that rows of others have as well. */
    remains: (): readonly Remains[] =>
      [...found.values()].flatMap(({ place: { ofOthers, isKept, ...place }, pieces: there }) => {
        const values = valuesOf([...there].filter((piece) => !common.has(piece))).size
        return values === 0 || isKept ? [] : [{ ...place, values }]
      }),
    /** How many values have no piece that is not common. */
    countCommon: () => valuesOf(pieces.keys()).size - valuesOf(others(common)).size,
    /** Statistics have what the tables have; only other pieces mean anything there. */
    notInTables: () => others(inTables).flatMap((n) => pieces[n] ?? []),
    /** The same of files. */
    notInFiles: () => others(new Set([...inTables, ...kept])).flatMap((n) => pieces[n] ?? []),
    /** What the warehouse has on purpose, and a file beside it only as a copy. */
    onlyKept: () => [...kept].filter((n) => !inTables.has(n)).flatMap((n) => pieces[n] ?? []),
  }
}
