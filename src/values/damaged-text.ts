/**
 * Recognizes text that another program has changed before it came here: markup, escapes,
 * placeholders. It may be meant as it is, so it is shown to a person with what it probably was, and
 * refused by nobody. Pure.
 */
import { excerpt } from './invisible.ts'

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  auml: 'ä',
  ouml: 'ö',
  uuml: 'ü',
  Auml: 'Ä',
  Ouml: 'Ö',
  Uuml: 'Ü',
  szlig: 'ß',
  eacute: 'é',
  egrave: 'è',
  agrave: 'à',
  ccedil: 'ç',
  ntilde: 'ñ',
  euro: '€',
  hellip: '…',
  ndash: '–',
  mdash: '—',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  bdquo: '„',
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function decodeBytes(hex: string): string | undefined {
  try {
    return utf8.decode(Buffer.from(hex, 'hex'))
  } catch {
    return undefined
  }
}

function fromCode(digits: string, base: number): string | undefined {
  const code = Number.parseInt(digits, base)
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : undefined
}

function decodeEntity(found: string): string | undefined {
  const name = found.slice(1, -1)
  if (!name.startsWith('#')) return Object.hasOwn(entities, name) ? entities[name] : undefined
  return /^#x/i.test(name) ? fromCode(name.slice(2), 16) : fromCode(name.slice(1), 10)
}

/**
 * `restore`: what each place was; undefined: it is no such place after all. Without it, that cannot
 * be known.
 */
const kinds: readonly {
  readonly what: string
  readonly pattern: RegExp
  readonly restore?: (found: string) => string | undefined
}[] = [
  {
    what: 'HTML',
    pattern: /&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[A-Za-z]{2,8});/g,
    restore: decodeEntity,
  },
  {
    what: 'HTML',
    pattern:
      /<\/?(?:br|p|div|span|b|i|u|strong|em|a|ul|ol|li|table|tr|td|h[1-6])(?:\s[^<>]{0,200})?\/?>/gi,
    restore: (tag) => (/^<(?:br|\/p|\/div|\/li|\/tr|\/h)/i.test(tag) ? '\n' : ''),
  },
  {
    what: 'an escape',
    pattern: /\\u[\da-fA-F]{4}/g,
    restore: (found) => fromCode(found.slice(2), 16),
  },
  {
    what: 'an escape',
    pattern: /\\x[\da-fA-F]{2}/g,
    restore: (found) => fromCode(found.slice(2), 16),
  },
  {
    what: 'an escaped line break',
    pattern: /(?:\\r)?\\n/g,
    restore: () => '\n',
  },
  {
    what: 'an escape of Excel',
    pattern: /_x[\dA-Fa-f]{4}_/g,
    restore: (found) => fromCode(found.slice(2, 6), 16),
  },
  {
    what: 'an encoding of e-mails',
    pattern: /(?:=[89A-F][\dA-F]){2,}/g,
    restore: (found) => decodeBytes(found.replaceAll('=', '')),
  },
  { what: 'an encoding of e-mails', pattern: /=\?[\w-]{2,30}\?[QBqb]\?[^?\s]{1,200}\?=/g },
  {
    what: 'an encoding of addresses',
    pattern: /(?:%[89A-Fa-f][\dA-Fa-f]){2,}|(?<=[\p{L}.,!?])%20(?=[\p{L}\d])/gu,
    restore: (found) => (found === '%20' ? ' ' : decodeBytes(found.replaceAll('%', ''))),
  },
  {
    what: 'a placeholder that nobody has filled in',
    pattern: /\{\{[^{}\n]{1,80}\}\}|\$\{[\w.]{1,80}\}/g,
  },
  { what: 'a number that a spreadsheet has shortened', pattern: /^-?\d(?:[.,]\d+)?E\+\d+$/g },
  { what: 'a formula instead of its result', pattern: /^\s*=[A-Z][A-Z.]{1,30}\([^\n]*\)$/g },
]

/**
 * An address of the web, which is encoded as it should be, or a path of Windows, which has
 * backslashes.
 */
const address = /\b(?:https?:\/\/|www\.|[A-Za-z]:\\)[^\s<>"]+|(?<!\S)\\\\[^\s<>"]+/gi

/**
 * Null: it looks as a person writes. Of several kinds, one that nothing can restore, else the first.
 * `found`: as it stands there. `probably`: the whole text as it was before; null: that cannot be
 * known.
 */
export function findTextChange(text: string) {
  const addresses = [...text.matchAll(address)].map(
    ({ 0: found, index }) => [index, index + found.length] as const,
  )
  const isInAddress = (at: number) => addresses.some(([from, to]) => at >= from && at < to)
  const found = kinds.flatMap((kind) => {
    const first = [...text.matchAll(kind.pattern)].find(
      ({ 0: place, index }) =>
        !isInAddress(index) && (kind.restore === undefined || kind.restore(place) !== undefined),
    )
    return first === undefined ? [] : [{ kind, place: first[0] }]
  })
  const first = found.find(({ kind }) => kind.restore === undefined) ?? found[0]
  if (first === undefined) return null
  const restored = found
    .reduce(
      (whole, { kind: { pattern, restore } }) =>
        whole.replace(pattern, (given) => restore?.(given) ?? given),
      text,
    )
    .replaceAll('%20', ' ')
  return {
    what: first.kind.what,
    found: excerpt(first.place),
    probably: restored === text ? null : excerpt(restored),
  }
}

const opening = /^\s*(["'“„«‘‚])/
const closing: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '“': '”',
  '„': '“”',
  '«': '»',
  '‘': '’',
  '‚': '‘’',
}

/** A reply that was cut at a comma: it opens a quote, which its sender closes. */
export function isCutAtComma(content: string, sender: string): boolean {
  const quote = opening.exec(content)?.[1]
  if (quote === undefined) return false
  const ends = closing[quote] ?? ''
  const isOpen = ![...ends].some((end) => content.trimStart().slice(1).includes(end))
  return isOpen && [...ends].some((end) => sender.trimEnd().endsWith(end))
}
