/** HTML and SVG whose every text is escaped: strings within the template are text, unless they are markup themselves. */
import { toPrintable } from '../../core/format.ts'

export type Markup = { readonly markup: string }

type Content = string | number | Markup | readonly Markup[]

/** Attributes must be quoted by `"` in the template. */
export function html(parts: TemplateStringsArray, ...contents: readonly Content[]): Markup {
  const escaped = contents.map(toMarkup)
  return { markup: parts.map((part, index) => part + (escaped[index] ?? '')).join('') }
}

/** Text of our own, such as the style sheet. */
export function trusted(markup: string): Markup {
  return { markup }
}

function toMarkup(content: Content): string {
  if (typeof content === 'number') return String(content)
  if (typeof content === 'string') return escapeHtml(content)
  return 'markup' in content ? content.markup : content.map(({ markup }) => markup).join('')
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function escapeHtml(text: string): string {
  return toPrintable(text.toWellFormed()).replace(/[&<>"']/g, (character) => entities[character] ?? '')
}
