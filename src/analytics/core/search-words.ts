/** Words as they are searched, the same in an index and in a question, in both databases. */

/** A text beyond that is no word that a person types. */
const maxWordLength = 40
/** Of one conversation. Postgres stores a megabyte of words in a row at most. */
const maxWords = 20_000
const maxAsked = 8

/** Without spaces: each character is a word of its own, so that parts of a run are found. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u

/** In lower case and without accents, each once. */
export function wordsOf(texts: Iterable<string>): ReadonlySet<string> {
  const found = new Set<string>()
  for (const text of texts) {
    // Most texts are ASCII, where simpler expressions take a fraction of the time.
    const isAscii = /^[\0-\x7f]*$/.test(text)
    const simple = isAscii ? text.toLowerCase() : plain(text)
    const words = simple.match(isAscii ? /[a-z0-9]+/g : /[\p{L}\p{N}]+/gu)
    const isSpaced = isAscii || !unspaced.test(simple)
    for (const word of words ?? []) {
      const parts = isSpaced || !unspaced.test(word) ? [word.slice(0, maxWordLength)] : word
      for (const part of parts) if (found.size < maxWords) found.add(part)
    }
  }
  return found
}

/** `isPrefix`: the last word may be unfinished. */
export type SearchQuery = { readonly words: readonly string[]; readonly isPrefix: boolean }

export function parseSearch(text: string): SearchQuery {
  const words = [...wordsOf([text])].slice(0, maxAsked)
  const last = words.at(-1) ?? ''
  return { words, isPrefix: last.length > 2 && /[\p{L}\p{N}]$/u.test(plain(text)) }
}

export function hasWord(text: string, { words, isPrefix }: SearchQuery): boolean {
  const own = wordsOf([text])
  const last = words.at(-1) ?? ''
  return (
    words.some((word) => own.has(word)) ||
    (isPrefix && [...own].some((word) => word.startsWith(last)))
  )
}

/** Whether it begins with one of these, or is one; `word` has letters and digits only. */
export function isFound(word: string, words: readonly string[]): boolean {
  const own = plain(word)
  return words.some(
    (asked) => own.startsWith(asked) || (unspaced.test(asked) && own.includes(asked)),
  )
}

function plain(text: string): string {
  return text
    .toWellFormed()
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
}
