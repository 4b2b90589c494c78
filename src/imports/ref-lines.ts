/**
 * Which line of an import had a ref first. Millions of refs would fill the heap, so that only hashes are kept: 96 bits of
 * each, and the line's number; 20 to 40 bytes outside of the heap. That two of ten million refs have one hash: p < 10^-14.
 */
import { hash } from 'node:crypto'

export type RefLines = {
  /** The line that had this ref first: an earlier one, or the one that is given (from 1). */
  readonly firstLine: (ref: string, line: number) => number
}

/** Words of 32 bits in an entry: the line, and three of the hash. An entry of line 0 is free. */
const width = 4

/** Fuller, and free places become hard to find. */
const mostFull = 0.75

/** Open addressing: an entry is where its hash says, or in the next place that is free. */
export function createRefLines(places = 1024): RefLines {
  let table = new Uint32Array(places * width)
  let taken = 0
  return {
    firstLine(ref, line) {
      if (taken >= (table.length / width) * mostFull) table = doubled(table)
      const entry = entryOf(ref, line)
      const at = placeOf(table, entry)
      if (table[at] !== 0) return table[at] ?? line
      table.set(entry, at)
      taken += 1
      return line
    },
  }
}

function entryOf(ref: string, line: number): Uint32Array {
  const bytes = hash('sha256', ref, 'buffer')
  return Uint32Array.of(line, bytes.readUInt32LE(0), bytes.readUInt32LE(4), bytes.readUInt32LE(8))
}

/** Where the entry is, or the free place where it belongs. */
function placeOf(table: Uint32Array, entry: Uint32Array): number {
  let at = ((entry[1] ?? 0) * width) % table.length
  while (table[at] !== 0 && !sameHash(table, at, entry)) at = (at + width) % table.length
  return at
}

function sameHash(table: Uint32Array, at: number, entry: Uint32Array): boolean {
  return table[at + 1] === entry[1] && table[at + 2] === entry[2] && table[at + 3] === entry[3]
}

function doubled(table: Uint32Array): Uint32Array<ArrayBuffer> {
  const wider = new Uint32Array(table.length * 2)
  for (let at = 0; at < table.length; at += width) {
    const entry = table.subarray(at, at + width)
    if (entry[0] !== 0) wider.set(entry, placeOf(wider, entry))
  }
  return wider
}
