/** Bytes → physical lines of text, one at a time: a file of any size, and lines of any length, need the memory of one line. */
import { isUtf8 } from 'node:buffer'

/** `text` is without its LF; a CR before it stays. Where there is a flaw, `text` is good for finding line ends only. */
export type TextLine = { readonly line: number; readonly text: string; readonly mistake: string | null }

/** Bytes. The longest wish that `readWish` takes has some 120 KiB in JSON, each character escaped. */
export const maxLineBytes = 1024 * 1024
export const lineTooLong = 'is longer than 1 MiB'

const lf = 0x0a

/** Lines are counted from 1. What is behind the last LF is a line if it is not empty. A BOM is dropped. */
export async function* readTextLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<TextLine> {
  let pieces: Uint8Array[] = []
  let size = 0
  let line = 1
  const addPiece = (piece: Uint8Array) => {
    size += piece.length
    if (size > maxLineBytes) pieces = []
    else if (piece.length > 0) pieces.push(piece)
  }
  for await (const chunk of bytes) {
    let from = 0
    for (let end = chunk.indexOf(lf); end >= 0; end = chunk.indexOf(lf, from)) {
      addPiece(chunk.subarray(from, end))
      yield toTextLine(line, pieces, size)
      pieces = []
      size = 0
      line += 1
      from = end + 1
    }
    addPiece(chunk.subarray(from))
  }
  if (size > 0) yield toTextLine(line, pieces, size)
}

function toTextLine(line: number, pieces: readonly Uint8Array[], size: number): TextLine {
  if (size > maxLineBytes) return { line, text: '', mistake: lineTooLong }
  const bytes = Buffer.concat(pieces, size)
  const text = bytes.toString('utf8')
  // A replacement character in place of broken bytes would be sent to a customer: the line is refused instead.
  const mistake = isUtf8(bytes) ? null : 'is not UTF-8'
  return { line, text: line === 1 && text.startsWith('\uFEFF') ? text.slice(1) : text, mistake }
}
