/** Bytes → physical lines of text, one at a time: a file of any size, and lines of any length, need the memory of one line. */
import { isUtf8 } from 'node:buffer'

/** `text` is without its LF; a CR before it stays. Where there is a flaw, `text` is good for finding line ends only. */
export type TextLine = { readonly line: number; readonly text: string; readonly flaw: string | null }

/** Bytes. The longest wish that `readWish` takes has some 120 KiB in JSON, each character escaped. */
export const longestLine = 1024 * 1024
export const tooLong = 'is longer than 1 MiB'

const lf = 0x0a

/** Lines are counted from 1. What is behind the last LF is a line if it is not empty. A BOM is dropped. */
export async function* textLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<TextLine> {
  let held: Uint8Array[] = []
  let size = 0
  let line = 1
  const hold = (piece: Uint8Array) => {
    size += piece.length
    if (size > longestLine) held = []
    else if (piece.length > 0) held.push(piece)
  }
  for await (const chunk of bytes) {
    let from = 0
    for (let end = chunk.indexOf(lf); end >= 0; end = chunk.indexOf(lf, from)) {
      hold(chunk.subarray(from, end))
      yield toTextLine(line, held, size)
      held = []
      size = 0
      line += 1
      from = end + 1
    }
    hold(chunk.subarray(from))
  }
  if (size > 0) yield toTextLine(line, held, size)
}

function toTextLine(line: number, held: readonly Uint8Array[], size: number): TextLine {
  if (size > longestLine) return { line, text: '', flaw: tooLong }
  const bytes = Buffer.concat(held, size)
  const text = bytes.toString('utf8')
  // A replacement character in place of broken bytes would be sent to a customer: the line is refused instead.
  const flaw = isUtf8(bytes) ? null : 'is not UTF-8'
  return { line, text: line === 1 && text.startsWith('\uFEFF') ? text.slice(1) : text, flaw }
}
