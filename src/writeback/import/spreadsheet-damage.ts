/**
 * Recognizes what programs did to a value before the file was saved, and what must not reach a customer: errors of
 * formulas, shortened numbers, words for no value, texts in the wrong encoding. Pure.
 */

/**
 * `#REF!`, `#DIV/0!`, `#NAME?`, in any language; those for "not available", which have no mark at their end; `Err:502`.
 * LibreOffice exports what it shows, which is `###` where a column is too narrow.
 */
const formulaErrors =
  /^(?:#[¡¿]?[\p{Lu}_]+(?:\/[\p{Lu}0]+)?[!?]|#(?:N\/A|N\/B|N\/D|NV|I\/T|YOK|HIÁNYZIK|Н\/Д)|#{3,}|(?:Err|Error|Fehler):\d{3})$/u

export function isFormulaError(cell: string): boolean {
  return formulaErrors.test(cell.trim())
}

/** `9.00719925474099E+15`, with a comma in some languages. */
export function isShortenedNumber(cell: string): boolean {
  return /^\s*\d(?:[.,]\d+)?E\+\d{1,3}\s*$/i.test(cell)
}

/** What databases and programs write where there is no value. Not `Null`, which is a name. */
export function isNoValue(cell: string): boolean {
  return /^(?:NULL|[(<]null[)>]|\\N|NaN|nan|None|undefined|\[object Object\])$/.test(cell.trim())
}

/** Why the text was damaged before it was saved; undefined if it looks sound. */
export function textDamage(text: string): string | undefined {
  if (text.includes('\uFFFD'))
    return 'has � where a program could not read a letter; take the text from its source again'
  if (/_x000[ADad]_/.test(text)) return 'has _x000D_ where a program left out a line break'
  return misread(text) === undefined ? undefined : 'was read in the wrong encoding before it was saved: Ã¼ instead of ü'
}

/** Characters that Windows has where Latin-1 has control characters, from 0x80. */
const windows1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

/** Two characters that are one in UTF-8, where all bytes from 0x80 were read so. */
const misreadPair = /[Â-ô][\x80-\xbf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]/u

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The text before UTF-8 was read as Windows-1252. It has no other characters than those, so that is certain enough. */
function misread(text: string): string | undefined {
  if (!misreadPair.test(text)) return undefined
  const bytes: number[] = []
  for (const character of text) {
    const byte = windows1252.indexOf(character)
    const code = byte >= 0 ? 0x80 + byte : (character.codePointAt(0) ?? 0)
    if (code > 0xff) return undefined
    bytes.push(code)
  }
  try {
    return utf8.decode(Uint8Array.from(bytes))
  } catch {
    return undefined
  }
}
