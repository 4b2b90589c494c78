/** The blocks that pages are made of, beside charts. */
import { type Cell, table as documentTable } from '../document/table.ts'
import type { NamedEntry } from '../outbox/outbox.ts'
import { path } from '../values/address.ts'
import { formatCount } from '../values/format.ts'
import { attribute, type Html, html, nothing } from '../values/html.ts'
import type { ProjectName } from '../values/project.ts'
import { firstVisible, foreignText } from './text.ts'

/** Where the sprite of icons is. */
export type Assets = { readonly assets: string }

/** What a person must do, what is wrong, what is fine, and what is worth knowing. */
export type SentenceKind = 'act' | 'wrong' | 'fine' | 'note' | 'clock'

/** From the sprite. It repeats what a word beside it says, so nobody reads it aloud. */
export function icon(name: SentenceKind | 'menu', { assets }: Assets): Html {
  return html`<svg class="icon ${name}" aria-hidden="true"><use
    href="${assets}/icons.svg#${name}"></use></svg>`
}

export type Sentence = {
  readonly kind: SentenceKind
  readonly text: Html
  readonly link?: { readonly to: string; readonly label: string }
}

/** In this order, whatever order they come in. */
const order: readonly SentenceKind[] = ['act', 'wrong', 'fine', 'clock', 'note']

export function sentences(list: readonly Sentence[], frame: Assets): Html {
  if (list.length === 0) return nothing
  const sorted = list.toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind))
  return html`<ul class="sentences">${sorted.map(
    ({ kind, text, link }) =>
      html`<li class="${kind}">${icon(kind, frame)}<p>${text}</p>${
        link === undefined ? nothing : html`<a class="button" href="${link.to}">${link.label}</a>`
      }</li>\n`,
  )}</ul>`
}

type OfProject = { readonly project: ProjectName }

/** An address below that of the project. */
export function addressOf({ project }: OfProject, ...segments: readonly string[]): string {
  return path`/console/p/${project}` + segments.map((segment) => path`/${segment}`).join('')
}

/** A link to a thing of the project, such as one of its `runs`. */
export function linkTo(frame: OfProject, folder: string, id: string, content: Html | string): Html {
  return html`<a href="${addressOf(frame, folder, id)}">${content}</a>`
}

/**
 * `titles`: of the columns; one that begins with `#` has numbers. `empty`: in place of a table
 * without rows.
 */
export function table(
  caption: string,
  titles: readonly string[],
  rows: readonly (readonly Cell[])[],
  empty = 'There are none.',
): Html {
  const columns = titles.map((title) => ({
    title: title.replace(/^#/, ''),
    isNumber: title.startsWith('#'),
  }))
  return documentTable({ caption, columns, rows, empty })
}

/** To all that is known of a visitor: one with an id, or whoever has the conversation. */
export function visitorLink(
  frame: OfProject,
  { conversationId, visitorId }: Pick<NamedEntry, 'conversationId' | 'visitorId'>,
  content: Html,
): Html {
  if (visitorId !== null) return linkTo(frame, 'visitors', visitorId, content)
  const to = addressOf(frame, 'conversations', conversationId ?? '', 'visitor')
  return html`<a href="${to}">${content}</a>`
}

/** The conversation by the name of its visitor, and beside it a link to the visitor. */
export function conversationCell(
  frame: OfProject,
  {
    id,
    name,
    email,
  }: { readonly id: string; readonly name?: string | null; readonly email?: string | null },
): Html {
  const visitor = visitorLink(frame, { conversationId: id, visitorId: null }, html`visitor`)
  return html`${linkTo(frame, 'conversations', id, foreignText(firstVisible(name, email, id)))} <small>${visitor}</small>`
}

/** Of a list to choose from. */
const maxOptions = 200

/**
 * Of a form. The first `maxOptions` are listed. `chosen` may be another one, or a value that the
 * options lack; null: the empty one.
 */
export function selectField(
  label: string,
  name: string,
  options: readonly Readonly<Record<'value' | 'label', string>>[],
  chosen: string | null,
): Html {
  const first = options.slice(0, maxOptions)
  const own =
    chosen === null || first.some(({ value }) => value === chosen)
      ? []
      : [options.find(({ value }) => value === chosen) ?? { value: chosen, label: chosen }]
  const list = [...first, ...own].map(
    ({ value, label: text }) =>
      html`<option value="${value}" ${attribute('selected', value === (chosen ?? ''))}>${text}</option>`,
  )
  const rest =
    options.length > maxOptions
      ? html`<option disabled>The others are not listed.</option>`
      : nothing
  return html`<label>${label} <select name="${name}">${list}${rest}</select></label>`
}

/** On a line of its own below what is above it. */
export function smallPrint(text: Html | string): Html {
  return html`<br><span class="faint">${text}</span>`
}

export function section(title: string, content: Html, aside: Html = nothing): Html {
  return html`<section><div class="title"><h2>${title}</h2>${aside}</div>${content}</section>\n`
}

/** Names and values; null: there is none, so nothing is said. */
export function facts(
  rows: readonly (readonly [name: string, value: Html | string | null])[],
): Html {
  const known = rows.filter(([, value]) => value !== null)
  return html`<dl class="facts">${known.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}

export type Choice = {
  readonly label: string | Html
  readonly to: string
  readonly isChosen: boolean
}

/** Filters are links, so they can be bookmarked and work without a script. */
export function choices(name: string, list: readonly Choice[]): Html {
  if (list.every(({ isChosen }) => isChosen)) return nothing
  return html`<ul class="choices" aria-label="${name}">${list.map(
    ({ label, to, isChosen }) =>
      html`<li><a href="${to}"
        ${attribute('aria-current', isChosen ? 'true' : null)}>${label}</a></li>`,
  )}</ul>`
}

/** Below a list without further pages, which has no more rows than `limit`. */
export function cutNote(rows: number, limit: number): Html {
  return rows < limit
    ? nothing
    : html`<p class="faint">At most ${formatCount(limit)} are listed here.</p>`
}

/** To the rows that follow; nothing if there are none. */
export function older(to: string | null, label = 'Older'): Html {
  return to === null
    ? nothing
    : html`<p class="older"><a class="button" href="${to}" rel="next">${label}</a></p>`
}

/**
 * While the page is open, what it is then takes its place; `said` is read aloud. `kept`: it stays,
 * as a person reads its rows; with another text these would be others.
 */
export function livePart(name: string, content: Html, kept: string | null = null): Html {
  const role = attribute('role', name === 'said' ? 'status' : null)
  return html`<div ${attribute('data-live-part', name)} ${role}
    ${attribute('data-live-kept', kept)}>${content}</div>\n`
}

/** Appears while the page is open, once the rows that it keeps would be others. */
export function newerNotice(address: string): Html {
  return html`<p class="newer" ${attribute('data-live-newer', true)}
    ${attribute('hidden', true)}>There is a newer view of these rows. <a href="${address}">Show
    it</a></p>`
}
