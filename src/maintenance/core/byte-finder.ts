/**
 * Finds many texts in bytes at once, whatever the case of ASCII letters. Every fourth byte of the
 * data is looked up among pieces of the texts, so the time depends on the data alone: each text is
 * there by those pieces that the fewest others have.
 */

/** In bytes. A shorter text could lie between two pieces that are looked up. */
export const minFindable = 7

/** `step`: how far pieces are apart. `width`: how many times 4 bytes each has. */
const step = 4
const widths = [4, 2, 1]
type Group = {
  readonly width: number
  readonly pieces: Map<number, number[]>
  readonly filter: Uint8Array
}

/** `onFound` returns whether the text need not be found again. */
export function createFinder(texts: readonly string[]) {
  const encoded = texts.map((text) => Uint8Array.from(Buffer.from(text), toLower))
  const groups = widths.map((width): Group => {
    return { width, pieces: new Map(), filter: new Uint8Array(filterSize / 8) }
  })
  for (const [n, bytes] of encoded.entries()) {
    const group = groups.find(({ width }) => bytes.length >= width * 4 + step - 1)
    if (group !== undefined) addText(group, bytes, n)
  }
  const used = groups.filter(({ pieces }) => pieces.size > 0)
  return (data: Uint8Array, onFound: (text: number, start: number) => boolean): void => {
    const aligned = data.byteOffset % 4 === 0 ? data : Uint8Array.from(data)
    for (const group of used) findIn(group, aligned, encoded, onFound)
  }
}

/** Where a text was found: which one, and how far from its start the piece is. */
const offsetBits = 12

function addText({ width, pieces, filter }: Group, bytes: Uint8Array, text: number): void {
  const last = Math.min(bytes.length - (width * 4 + step - 1), 2 ** offsetBits - step)
  const keysFrom = (start: number) =>
    Array.from({ length: step }, (_, k) => keyAt(bytes, start + k, width))
  const sharers = (start: number) =>
    keysFrom(start).reduce((sum, key) => sum + (pieces.get(key)?.length ?? 0), 0)
  let best = 0
  for (let tried = 0; tried <= 8; tried++) {
    const start = Math.floor((last * tried) / 8)
    if (sharers(start) < sharers(best)) best = start
  }
  for (const [k, key] of keysFrom(best).entries()) {
    const found = pieces.get(key) ?? []
    found.push(text * 2 ** offsetBits + best + k)
    pieces.set(key, found)
    setBit(filter, key)
  }
}

function findIn(
  { width, pieces, filter }: Group,
  data: Uint8Array,
  texts: readonly Uint8Array[],
  onFound: (text: number, start: number) => boolean,
) {
  const words = new Int32Array(data.buffer, data.byteOffset, data.length >> 2)
  for (let i = 0; i + width <= words.length; i++) {
    const key = keyOf(words, i, width)
    if (!hasBit(filter, key)) continue
    const candidates = pieces.get(key)
    if (candidates === undefined) continue
    // From the end, as found ones may go.
    for (let n = candidates.length - 1; n >= 0; n--) {
      const piece = candidates[n] ?? 0
      const text = Math.floor(piece / 2 ** offsetBits)
      const start = i * 4 - (piece % 2 ** offsetBits)
      if (isAt(data, start, texts[text]) && onFound(text, start)) candidates.splice(n, 1)
    }
  }
}

function isAt(data: Uint8Array, start: number, text: Uint8Array | undefined): boolean {
  if (text === undefined || start < 0 || start + text.length > data.length) return false
  for (let i = 0; i < text.length; i++) if (toLower(data[start + i] ?? 0) !== text[i]) return false
  return true
}

const toLower = (byte: number): number => (byte >= 65 && byte <= 90 ? byte | 32 : byte)

function keyAt(bytes: Uint8Array, at: number, width: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  const words = Array.from({ length: width }, (_, n) => view.getInt32(at + n * 4, true))
  return keyOf(Int32Array.from(words), 0, width)
}

/** The bit of small letters is set in all bytes: others that become equal are compared later. */
const anyCase = 0x20202020

function keyOf(words: Int32Array, at: number, width: number): number {
  let key = 0
  for (let n = 0; n < width; n++) {
    key = Math.imul(key ^ ((words[at + n] ?? 0) | anyCase), 0x9e3779b1)
    key ^= key >>> 15
  }
  return key
}

/** In bits: most pieces of the data end here. */
const filterSize = 2 ** 22

const setBit = (filter: Uint8Array, key: number): void => {
  const bit = (key >>> 0) % filterSize
  filter[bit >> 3] = (filter[bit >> 3] ?? 0) | (1 << (bit & 7))
}

const hasBit = (filter: Uint8Array, key: number): boolean => {
  const bit = (key >>> 0) % filterSize
  return ((filter[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0
}
