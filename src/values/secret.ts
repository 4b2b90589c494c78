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
  const known = secrets.filter((value) => value.length >= 4)
  return longestFirst(known).reduce(
    (safe, value) => safe.replaceAll(value, '[secret]'),
    text.replace(/svc_[a-z]+_[\w-]+/g, '[secret]'),
  )
}

/** A text may be a part of another one, whose rest would stay. */
const longestFirst = (texts: readonly string[]) => texts.toSorted((a, b) => b.length - a.length)

const hiddenText = '[not stored]'

/** The only letter that gets longer in lower case is replaced, as places are those of the text. */
const ignoringCase = (text: string) => text.replaceAll('İ', 'i').toLowerCase().replaceAll('ς', 'σ')

/** Removes texts of customers, in whatever letters. */
export function hideTexts(text: string, hidden: readonly string[]): string {
  return longestFirst(hidden).reduce((shown, value) => {
    let from = 0
    const parts = ignoringCase(shown)
      .split(ignoringCase(value))
      .map(({ length }) => {
        const part = shown.slice(from, from + length)
        from += length + value.length
        return part
      })
    return parts.join(hiddenText)
  }, text)
}
