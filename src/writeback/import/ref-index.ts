/**
 * Finds the first line of an import with a given ref. Millions of refs would fill the heap, so the index holds 96-bit
 * hashes and line numbers: 20 to 40 bytes each, off the heap. Collision probability for ten million refs: below 10^-14.
 */
import { hash } from 'node:crypto'

export type RefIndex = {
  /** The first line with this ref: an earlier one, or `line` itself (from 1). */
  readonly firstLine: (ref: string, line: number) => number
}

/** 32-bit words per entry: the line and three words of the hash. Line 0 marks a free slot. */
const wordsPerEntry = 4

/** A fuller table makes lookups slow. */
const maxLoadFactor = 0.75

/** Open addressing with linear probing. */
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

/** The slot of the entry, or the free slot where it belongs. */
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
