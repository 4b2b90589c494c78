/** The rows of a batch that have not left: what each sends, exactly, and what it would do. Some can be picked. */

import { type Cell, type Column, table } from '../../document/table.ts'
import type { DecisionName } from '../../outbox/core/decisions.ts'
import type { ReviewOutcome } from '../../outbox/core/review.ts'
import { outcomeLabels } from '../../outbox/core/review-labels.ts'
import { reviewActions } from '../../outbox/core/writeback-request.ts'
import { path } from '../../values/address.ts'
import { attribute, type Html, html, nothing } from '../../values/html.ts'
import type { BatchData } from '../core/writeback-data.ts'
import { hiddenFields } from '../decision-forms.ts'
import type { ProjectFrame } from '../page.ts'
import { exactText, foreignText, shortened } from '../text.ts'

type ReviewedRows = {
  readonly batch: string
  readonly rows: BatchData['reviewed']
  readonly would: ReviewOutcome | null
  readonly offered: readonly DecisionName[]
}

export function reviewedTable({ batch, rows, would, offered }: ReviewedRows, frame: ProjectFrame): Html {
  const pickable = offered.filter((decision) => decision === 'approve' || decision === 'cancel')
  const hasPicks = pickable.length > 0 && rows.length > 0
  const pick: Column[] = hasPicks ? [{ title: 'Pick' }] : []
  const columns: Column[] = [
    ...pick,
    { title: 'Row', isNumber: true },
    { title: 'About' },
    { title: 'What is sent' },
    { title: 'Effect' },
  ]
  const cells = rows.map((row) => [...(hasPicks ? [pickCell(row)] : []), ...rowCells(row, frame)])
  const content = table({
    caption: 'Rows that have not been sent',
    columns,
    rows: cells,
    empty: 'No row would do this.',
  })
  if (!hasPicks) return content
  const allOf = would === null ? nothing : allOfOutcome(batch, would, pickable, frame)
  return html`<form action="${path`/console/p/${frame.project}/confirm`}" ${attribute('data-picks', true)}>${hiddenFields({ batch })}
${content}
<div class="bar"><span ${attribute('data-picked', true)} role="status">Picked rows:</span>${pickable.map(
    (decision) =>
      html`<button type="submit" name="decision" value="${decision}">${decision === 'approve' ? 'Approve these…' : 'Cancel these…'}</button>`,
  )}</div></form>${allOf}`
}

/** All that would do this, also those on other pages. */
function allOfOutcome(
  batch: string,
  would: ReviewOutcome,
  pickable: readonly DecisionName[],
  frame: ProjectFrame,
): Html {
  return html`<form class="bar" action="${path`/console/p/${frame.project}/confirm`}">${hiddenFields({ batch, would })}<span>All that are “${outcomeLabels[would]}”:</span>${pickable.map(
    (decision) =>
      html`<button type="submit" name="decision" value="${decision}">${decision === 'approve' ? 'Approve all of these…' : 'Cancel all of these…'}</button>`,
  )}</form>`
}

function pickCell({ id, position }: BatchData['reviewed'][number]): Cell {
  return html`<input type="checkbox" name="id" value="${id}" aria-label="Row ${String(position)}">`
}

function rowCells(
  { position, id, action, outcome, visitorName, lastWords, effect, differs, payload }: BatchData['reviewed'][number],
  frame: ProjectFrame,
): Cell[] {
  return [
    html`<a href="${path`/console/p/${frame.project}/writebacks/${id}`}">${String(position)}</a>`,
    html`${foreignText(visitorName)}${lastWords === null ? nothing : html`<br><span class="faint">“${shortened(lastWords, 120)}”</span>`}`,
    html`${payload?.handled === undefined ? html`<span class="faint">${reviewActions[action][0]}</span> ` : nothing}${payloadText(payload)}`,
    html`<span class="outcome ${outcome}">${outcomeLabels[outcome]}</span>${effect === '' || effect === null ? nothing : html`<br>${shortened(effect, 200)}`}${differs === null ? nothing : html`<br><span class="problem">${shortened(differs, 300)}</span>`}`,
  ]
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
