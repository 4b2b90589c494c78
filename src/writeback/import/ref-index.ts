/**
 * Which line of an import had a ref first. Millions of refs would fill the heap, so that only hashes are kept: 96 bits of
 * each, and the line's number; 20 to 40 bytes outside of the heap. That two of ten million refs have one hash: p < 10^-14.
 */
import { hash } from 'node:crypto'

export type RefIndex = {
  /** The line that had this ref first: an earlier one, or the one that is given (from 1). */
  readonly firstLine: (ref: string, line: number) => number
}

/** Words of 32 bits in an entry: the line, and three of the hash. An entry of line 0 is free. */
const wordsPerEntry = 4

/** Fuller, and free places become hard to find. */
const maxLoadFactor = 0.75

/** Open addressing: an entry is where its hash says, or in the next place that is free. */
export function createRefIndex(slots = 1024): RefIndex {
  let table = new Uint32Array(slots * wordsPerEntry)
  let usedSlots = 0
  return {
    firstLine(ref, line) {
      if (usedSlots >= (table.length / wordsPerEntry) * maxLoadFactor) table = grow(table)
      const entry = toEntry(ref, line)
      const slot = findSlot(table, entry)
      if (table[slot] !== 0) return table[slot] ?? line
      table.set(entry, slot)
      usedSlots += 1
      return line
    },
  }
}

function toEntry(ref: string, line: number): Uint32Array {
  const bytes = hash('sha256', ref, 'buffer')
  return Uint32Array.of(line, bytes.readUInt32LE(0), bytes.readUInt32LE(4), bytes.readUInt32LE(8))
}

/** Where the entry is, or the free place where it belongs. */
function findSlot(table: Uint32Array, entry: Uint32Array): number {
  let slot = ((entry[1] ?? 0) * wordsPerEntry) % table.length
  while (table[slot] !== 0 && !hasSameHash(table, slot, entry)) slot = (slot + wordsPerEntry) % table.length
  return slot
}

function hasSameHash(table: Uint32Array, slot: number, entry: Uint32Array): boolean {
  return table[slot + 1] === entry[1] && table[slot + 2] === entry[2] && table[slot + 3] === entry[3]
}

function grow(table: Uint32Array): Uint32Array<ArrayBuffer> {
  const grown = new Uint32Array(table.length * 2)
  for (let slot = 0; slot < table.length; slot += wordsPerEntry) {
    const entry = table.subarray(slot, slot + wordsPerEntry)
    if (entry[0] !== 0) grown.set(entry, findSlot(grown, entry))
  }
  return grown
}
