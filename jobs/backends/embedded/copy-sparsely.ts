/** Copies of large arrays that use no memory for zeros: what an array never wrote to, the system does not provide. */

/** Smaller ones are copied as usual. */
const largeBytes = 64 * 1024 * 1024

const blockBytes = 64 * 1024

/** For the whole thread. The copies are equal to what the built-in functions make. */
export function copySparsely(): void {
  const { slice, set } = Uint8Array.prototype
  Uint8Array.prototype.slice = function (start, end) {
    if (this.length < largeBytes || start !== undefined) return slice.call(this, start, end)
    const copy = new Uint8Array(this.length)
    copyBlocks(this, copy, 0)
    return copy
  }
  Uint8Array.prototype.set = function (source, offset = 0) {
    if (source instanceof Uint8Array && source.length >= largeBytes) copyBlocks(source, this, offset)
    else set.call(this, source, offset)
  }

  /** Writes only blocks that differ. */
  function copyBlocks(source: Uint8Array, target: Uint8Array, offset: number): void {
    for (let from = 0; from < source.length; from += blockBytes) {
      const block = source.subarray(from, from + blockBytes)
      const old = target.subarray(offset + from, offset + from + block.length)
      if (Buffer.compare(block, old) !== 0) set.call(old, block)
    }
  }
}
