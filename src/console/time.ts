/** Times in the project's time zone, and ages as people say them. */
import { formatDuration } from '../core/format.ts'
import { type Html, html } from '../core/html/html.ts'
import type { EpochMs, Ms } from '../core/time.ts'

const formats = new Map<string, Intl.DateTimeFormat>()

function formatIn(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known !== undefined) return known
  const options = { dateStyle: 'short', timeStyle: 'short', hourCycle: 'h23', timeZone } as const
  // The Swedish way of writing a time is that of RFC 3339, without its T.
  const format = new Intl.DateTimeFormat('sv-SE', options)
  formats.set(timeZone, format)
  return format
}

/** `2026-11-21 19:32` */
export function formatTime(at: EpochMs, timeZone: string): string {
  return formatIn(timeZone).format(at)
}

type Zone = { readonly timeZone: string }

/** UTC is in the title. Null: a dash. */
export function timeOf(at: string | null, { timeZone }: Zone): Html {
  const ms = at === null ? Number.NaN : Date.parse(at)
  if (at === null || Number.isNaN(ms)) return html`<span class="faint">–</span>`
  return html`<time datetime="${at}" title="${at}">${formatTime(ms, timeZone)}</time>`
}

/** `4 min`, `3 h`, `2 days`: ages need no more. */
export function roughly(ms: Ms): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 2 * 86_400) return `${Math.floor(seconds / 3600)} h`
  return `${Math.floor(seconds / 86_400)} days`
}

/** `4 min ago`, or `never` */
export function agoText(at: string | null, now: EpochMs): string {
  return at === null ? 'never' : `${roughly(now - Date.parse(at))} ago`
}

/** `47 s`, `2 min 6 s`: of something that is estimated or configured. */
export function spanText(ms: Ms): string {
  return formatDuration(Math.round(ms / 1000) * 1000).replace(/\.0 s$/, ' s')
}

/** How long ago, with the time in the title. */
export function ago(at: string | null, { now, timeZone }: Zone & { readonly now: EpochMs }): Html {
  if (at === null) return html`<span class="faint">never</span>`
  return html`<time datetime="${at}" title="${formatTime(Date.parse(at), timeZone)} · ${at}">${agoText(at, now)}</time>`
}
