/** A text that must never be printed: inspect, JSON and templates show `[secret]` instead. */

export type Secret = {
  readonly reveal: () => string
  readonly toJSON: () => string
  readonly toString: () => string
}

const hidden = () => '[secret]'

export function secret(value: string): Secret {
  const wrapped = { reveal: () => value, toJSON: hidden, toString: hidden }
  return Object.defineProperty(wrapped, Symbol.for('nodejs.util.inspect.custom'), {
    value: hidden,
    enumerable: false,
  })
}

/** Removes these texts, and whatever looks like a live key, whether it is configured or not. */
export function redactSecrets(text: string, secrets: readonly string[]): string {
  const safe = text.replace(/svc_[a-z]+_[\w-]+/gi, '[secret]')
  return hideTexts(
    safe,
    secrets.filter((value) => value.length >= 4),
    '[secret]',
  )
}

/** Removes these texts, such as those of customers, in whatever letters they are repeated. */
export function hideTexts(text: string, hidden: readonly string[], by = '[not stored]'): string {
  // A text may be a part of another one, whose rest would stay.
  const longestFirst = hidden.toSorted((a, b) => b.length - a.length)
  return longestFirst.reduce((shown, value) => hideText(shown, value, by), fold(text)).text
}

function hideText(shown: ReturnType<typeof fold>, hidden: string, by: string) {
  const { text, folded, placeOf } = shown
  const value = fold(hidden).folded
  if (value === '' || !folded.includes(value)) return shown
  const parts: string[] = []
  let from = 0
  for (let at = folded.indexOf(value), end = 0; at !== -1; at = folded.indexOf(value, end)) {
    end = at + value.length
    // Not within a letter that is spelled out.
    while (placeOf(end) === placeOf(end - 1)) end += 1
    parts.push(text.slice(from, placeOf(at)))
    from = placeOf(end)
  }
  return fold([...parts, text.slice(from)].join(by))
}

const isAscii = (text: string) => !/\P{ASCII}/u.test(text)

/**
 * Equal for texts that differ in case or accents only, also where letters are composed otherwise or
 * have another length: `Straße`, `STRASSE`. `placeOf`: of a letter of it, that in the text.
 */
function fold(text: string) {
  if (isAscii(text)) return { text, folded: text.toLowerCase(), placeOf: (at: number) => at }
  let folded = ''
  const places: number[] = []
  let at = 0
  for (const letter of text) {
    // Upper case first: it spells out ß, and unites σ and ς.
    const plain = letter.normalize('NFKD').toUpperCase().toLowerCase().normalize('NFKD')
    const bare = plain.replace(/\p{Mn}/gu, '')
    for (let n = 0; n < bare.length; n += 1) places.push(at)
    folded += bare
    at += letter.length
  }
  return { text, folded, placeOf: (index: number) => places[index] ?? text.length }
}
