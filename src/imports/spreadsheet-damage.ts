/**
 * Recognizes what programs did to a value before the file was saved, and what must not reach a
 * customer: errors of formulas, shortened numbers, words for no value, texts in the wrong encoding.
 * Pure.
 */

import {
  type RequestMistake,
  type RequestParseResult,
  toMistake,
} from '../outbox/core/writeback-request.ts'

/**
 * `#REF!`, `#DIV/0!`, `#NAME?`, in any language; those for "not available", which have no mark at
 * their end; `Err:502`. LibreOffice exports what it shows, which is `###` where a column is too
 * narrow.
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
  return !isMisread(text)
    ? undefined
    : 'was read in the wrong encoding before it was saved: Ã¼ instead of ü'
}

/** Characters that Windows has where Latin-1 has control characters, from 0x80. */
const windows1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

/** The characters that stand for bytes from 0x80. */
const highRun = /[\x80-\xff€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]+/gu

/**
 * A letter at the end of a word and the marks that follow it: `LIBERTÉ»`, `Fuß“`. These happen to
 * be UTF-8 as well.
 */
const letterAndMarks = /^[^Â][…”“’‘»«›‹™®\xa0–—]+$/u

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Whether UTF-8 was read as Windows-1252: in a run of such characters, or in all of them. Runs of
 * letter and marks prove it only if there is nothing else, or if they stand where such marks do
 * not: `Ã–sterreich`.
 */
function isMisread(text: string): boolean {
  const runs = [...text.matchAll(highRun)].map(({ 0: run, index }) => {
    const next = text.slice(index + run.length).charAt(0)
    const isWithinWord = /\p{L}/u.test(next) && (run.startsWith('Ã') || !/[–—’‘]$/.test(run))
    return { isUtf8: isUtf8(run), isPlain: letterAndMarks.test(run) && !isWithinWord }
  })
  const isWhole =
    runs.length > 0 &&
    runs.every(({ isUtf8 }) => isUtf8) &&
    !/[\u0100-\uffff]/.test(text.replace(highRun, ''))
  return isWhole || runs.some(({ isUtf8, isPlain }) => isUtf8 && !isPlain)
}

function isUtf8(run: string): boolean {
  const bytes = Array.from(run, (character) => {
    const byte = windows1252.indexOf(character)
    return byte >= 0 ? 0x80 + byte : (character.codePointAt(0) ?? 0)
  })
  try {
    utf8.decode(Uint8Array.from(bytes))
    return true
  } catch {
    return false
  }
}

export function withTextMistakes(result: RequestParseResult): RequestParseResult {
  if (!result.ok) return result
  const mistakes = Object.entries(result.request.payload).flatMap(
    ([field, value]): RequestMistake[] => {
      const damage = typeof value === 'string' ? textDamage(value) : undefined
      return damage === undefined ? [] : [toMistake(field, damage, value)]
    },
  )
  return mistakes.length === 0 ? result : { ok: false, mistakes }
}
