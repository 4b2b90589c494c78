/** Icons from the sprite. They repeat what a word beside them says, so nobody reads them aloud. */
import { type Html, html } from '../core/html/html.ts'

export type IconName = 'act' | 'wrong' | 'fine' | 'note' | 'clock' | 'menu'

export function icon(name: IconName, { assets }: { readonly assets: string }): Html {
  return html`<svg class="icon ${name}" aria-hidden="true"><use href="${assets}/icons.svg#${name}"></use></svg>`
}
