/** The blocks that pages are made of, beside tables and charts. */
import { attribute, type Html, html, nothing } from '../values/html.ts'

/** Icons from the sprite. They repeat what a word beside them says, so nobody reads them aloud. */
type IconName = 'act' | 'wrong' | 'fine' | 'note' | 'clock' | 'menu'

export function icon(name: IconName, { assets }: { readonly assets: string }): Html {
  return html`<svg class="icon ${name}" aria-hidden="true"><use href="${assets}/icons.svg#${name}"></use></svg>`
}

type Assets = { readonly assets: string }

/** What a person must do, what is wrong, what is fine, and what is worth knowing. */
export type SentenceKind = Exclude<IconName, 'menu'>

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

export function section(title: string, content: Html, aside: Html = nothing): Html {
  return html`<section><div class="title"><h2>${title}</h2>${aside}</div>${content}</section>\n`
}

/** Names and values. */
export function facts(rows: readonly (readonly [name: string, value: Html | string])[]): Html {
  return html`<dl class="facts">${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}

type Choice = { readonly label: string; readonly to: string; readonly isChosen: boolean }

/** Filters are links, so they can be bookmarked and work without a script. */
export function choices(name: string, list: readonly Choice[]): Html {
  return html`<ul class="choices" aria-label="${name}">${list.map(
    ({ label, to, isChosen }) =>
      html`<li><a href="${to}" ${attribute('aria-current', isChosen ? 'true' : null)}>${label}</a></li>`,
  )}</ul>`
}

/** To the rows that follow; nothing if there are none. */
export function older(to: string | null, label = 'Older'): Html {
  return to === null ? nothing : html`<p class="older"><a class="button" href="${to}" rel="next">${label}</a></p>`
}

/** A text that changes while the page is open: the stream has it by this name. */
export function live(name: string, text: string): Html {
  return html`<span ${attribute('data-live', name)}>${text}</span>`
}
