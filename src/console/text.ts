/**
 * Texts that other people wrote, each isolated so that its direction cannot turn the text around
 * it; times and ages.
 */

import { isFound } from '../analytics/core/search-words.ts'
import { localDateAt } from '../values/days.ts'
import { formatCount, formatSeconds, formatTime } from '../values/format.ts'
import { type Html, html, nothing } from '../values/html.ts'
import { codeOf, splitInvisible, trimInvisible } from '../values/invisible.ts'
import { isHash } from '../values/private-columns.ts'
import type { EpochMs, LocalDate, Ms } from '../values/time.ts'
import type { Frame } from './frame.ts'

/** Of any origin; null, or nothing to see: a dash. */
export function foreignText(text: string | null): Html {
  if (isHash(text)) return html`<span class="faint" title="${text}">not stored</span>`
  return firstVisible(text) === null ? html`<span class="faint">–</span>` : html`<bdi>${text}</bdi>`
}

/** The first of these texts with anything to see, as a link needs it. */
export function firstVisible(...texts: readonly (string | null | undefined)[]): string | null {
  return texts.find((text) => trimInvisible(text ?? '') !== '') ?? null
}

/** Shortened to about so many characters. */
export function shortened(text: string | null, length: number): Html {
  const characters = [...(text ?? '').slice(0, 4 * length)]
  return foreignText(characters.length > length ? `${characters.slice(0, length).join('')}…` : text)
}

/** Exactly what is there: line breaks stay, and characters that nobody could see are named. */
export function exactText(text: string | null): Html {
  if (text === null || text === '' || isHash(text)) return foreignText(text)
  const parts = splitInvisible(text).map((part) =>
    part.isInvisible
      ? html`<span class="invisible" title="invisible">${namesOf(part.text)}</span>`
      : part.text,
  )
  return html`<bdi class="exact">${parts}</bdi>`
}

/** `U+200B U+202E×3` */
function namesOf(characters: string): string {
  const names = [...characters.matchAll(/(.)\1*/gsu)].map(([run, character = '']) => {
    const count = run.length / character.length
    return codeOf(character) + (count === 1 ? '' : `×${count}`)
  })
  return names.join(' ')
}

/** The first so many characters of a text, exactly, and how many more there are. */
export function exactStart(text: string | null, length: number): Html {
  if (text === null || text.length <= length) return exactText(text)
  return html`${exactText(text.slice(0, length))} <span class="faint">… and
    ${formatCount(text.length - length)} more characters</span>`
}

/** The words of the query within the text, marked. */
export function markedText(text: string | null, words: readonly string[]): Html {
  if (text === null || words.length === 0) return foreignText(text)
  const parts = text.split(/([\p{L}\p{N}\p{M}]+)/u)
  return html`<bdi>${parts.map((part, index) => (index % 2 === 1 && isFound(part, words) ? html`<mark>${part}</mark>` : part))}</bdi>`
}

/** Who did it, where that is known. */
export function by(person: string | null): Html {
  return person === null ? nothing : html` by ${foreignText(person)}`
}

export function todayOf({ now, timeZone }: Pick<Frame, 'now' | 'timeZone'>): LocalDate {
  return localDateAt(Math.floor(now / 1000), timeZone)
}

/** UTC is in the title. Null: a dash. */
export function timeOf(at: string | null, { timeZone }: Pick<Frame, 'timeZone'>): Html {
  const ms = at === null ? Number.NaN : Date.parse(at)
  if (at === null || Number.isNaN(ms)) return html`<span class="faint">–</span>`
  return html`<time datetime="${at}" title="${at}">${formatTime(ms, timeZone)}</time>`
}

/**
 * `47 s`, `2 min 6 s`, `3 h 20 min`: in a table, or of something that is estimated or configured.
 */
export function spanText(ms: Ms): string {
  return formatSeconds(Math.max(0, Math.round(ms / 1000)))
}

/**
 * `under 1 s`, `47 s`, `2 min`, `3 h`, `2 d 4 h`: in a sentence, which says how long something has
 * been so.
 */
export function ageText(ms: Ms): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds === 0) return 'under 1 s'
  const unit = seconds < 60 ? 1 : seconds < 3600 ? 60 : 3600
  return formatSeconds(Math.round(seconds / unit) * unit)
}

/** `just now`, `4 min ago`, or `never` */
export function agoText(at: string | null, now: EpochMs): string {
  if (at === null) return 'never'
  const ms = now - Date.parse(at)
  return ms < 500 ? 'just now' : `${ageText(ms)} ago`
}

/** How long ago, with the time in the title. */
export function ago(at: string | null, { now, timeZone }: Pick<Frame, 'now' | 'timeZone'>): Html {
  if (at === null) return html`<span class="faint">never</span>`
  return html`<time datetime="${at}"
    title="${formatTime(Date.parse(at), timeZone)} · ${at}">${agoText(at, now)}</time>`
}
