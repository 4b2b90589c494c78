/** The rows of a batch that have not left: what each sends, exactly, and what it would do. Some can be picked. */
import type { Cell } from '../../document/table.ts'
import type { DecisionName } from '../../outbox/core/decisions.ts'
import type { NamedEntry } from '../../outbox/core/outbox-entry.ts'
import type { ReviewOutcome } from '../../outbox/core/review.ts'
import { outcomeLabels } from '../../outbox/core/review-labels.ts'
import { reviewActions } from '../../outbox/core/writeback-request.ts'
import { attribute, type Html, html, nothing } from '../../values/html.ts'
import { addressOf, linkTo, table } from '../blocks.ts'
import { hiddenFields } from '../decision-forms.ts'
import type { ProjectFrame } from '../page.ts'
import type { ReviewedRow } from '../reviews.ts'
import { exactText, foreignText, shortened } from '../text.ts'

/** `payload`: what it would send. */
export type RowToPick = ReviewedRow & { readonly payload: NamedEntry['payload'] }

type Picking = {
  readonly batch: string
  readonly would: ReviewOutcome | null
  readonly offered: readonly DecisionName[]
}

export function reviewedTable(
  rows: readonly RowToPick[],
  { batch, would, offered }: Picking,
  frame: ProjectFrame,
): Html {
  const decisions = (['approve', 'cancel'] as const).filter((decision) => offered.includes(decision))
  const hasPicks = decisions.length > 0 && rows.length > 0
  const pick = ({ id, position }: RowToPick) =>
    html`<input type="checkbox" name="id" value="${id}" aria-label="Row ${String(position)}">`
  const content = table(
    'Rows that have not been sent',
    [...(hasPicks ? ['Pick'] : []), '#Row', 'About', 'What is sent', 'Effect'],
    rows.map((row) => [...(hasPicks ? [pick(row)] : []), ...rowCells(row, frame)]),
    'No row would do this.',
  )
  if (!hasPicks) return content
  const confirm = addressOf(frame, 'confirm')
  const buttons = (which: string) =>
    decisions.map(
      (decision) =>
        html`<button type="submit" name="decision" value="${decision}">${decision === 'approve' ? 'Approve' : 'Cancel'} ${which}…</button>`,
    )
  // All that would do this, also those on other pages.
  const allOf =
    would === null
      ? nothing
      : html`<form class="bar" action="${confirm}">${hiddenFields({ batch, would })}<span>All that are “${outcomeLabels[would]}”:</span>${buttons('all of these')}</form>`
  return html`<form action="${confirm}" ${attribute('data-picks', true)}>${hiddenFields({ batch })}
${content}
<div class="bar"><span ${attribute('data-picked', true)} role="status">Picked rows:</span>${buttons('these')}</div></form>${allOf}`
}

function rowCells(
  { position, outcome, lastWords, effect, differs, payload, ...row }: RowToPick,
  frame: ProjectFrame,
): Cell[] {
  return [
    linkTo(frame, 'writebacks', row.id, String(position)),
    html`${foreignText(row.visitorName)}${quoted(lastWords)}`,
    html`${payload?.handled === undefined ? html`<span class="faint">${reviewActions[row.action][0]}</span> ` : nothing}${payloadText(payload)}`,
    html`<span class="outcome ${outcome}">${outcomeLabels[outcome]}</span>${effect === '' || effect === null ? nothing : html`<br>${shortened(effect, 200)}`}${differs === null ? nothing : html`<br><span class="problem">${shortened(differs, 300)}</span>`}`,
  ]
}

/** The visitor's last words, below the name. */
export function quoted(lastWords: string | null): Html {
  return lastWords === null ? nothing : html`<br><span class="faint">“${shortened(lastWords, 120)}”</span>`
}

/** Exactly what is sent: each field, with characters that nobody could see named. */
export function payloadText(payload: Readonly<Record<string, unknown>> | null): Html {
  const fields = Object.entries(payload ?? {})
  if (payload === null || fields.length === 0) return foreignText(null)
  const { content, sender_name: sender, handled, ...others } = payload
  const shown = Object.entries(others).map(
    ([name, value]) => html`<span class="field">${name}: ${value === null ? 'none' : exactText(String(value))}</span> `,
  )
  if (handled !== undefined) shown.unshift(html`${handled === false ? 'reopen' : 'mark handled'} `)
  if (typeof content !== 'string') return html`${shown}`
  return html`<q>${exactText(content)}</q>${typeof sender === 'string' ? html` <span class="faint">as ${exactText(sender)}</span>` : nothing}`
}
