/** Splits bytes into lines of text. Files of any size need the memory of one line of limited length. */
import { isUtf8 } from 'node:buffer'

/** `text` excludes the LF but keeps a CR. With a mistake, `text` serves only to find the end of a record. */
export type TextLine = { readonly line: number; readonly text: string; readonly mistake: string | null }

/** The longest valid request takes about 120 KiB as JSON with every character escaped. */
export const maxLineBytes = 1024 * 1024
export const lineTooLong = 'is longer than 1 MiB'

const lf = 0x0a

/** Counts lines from 1. Text after the last LF is a line if it is not empty. Drops a BOM. */
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
  // Invalid bytes would reach a customer as replacement characters, so the line is rejected.
  const mistake = isUtf8(bytes) ? null : 'is not UTF-8'
  return { line, text: line === 1 && text.startsWith('\uFEFF') ? text.slice(1) : text, mistake }
}
