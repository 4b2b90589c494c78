/** The page before a decision: exactly what it is about, what it means, and the digest that names it. */

import { table } from '../../document/table.ts'
import { type DecisionName, decisions } from '../../outbox/core/decisions.ts'
import { describeTerms } from '../../outbox/core/review-labels.ts'
import { type Operation, operationTypes } from '../../outbox/core/writeback-request.ts'
import { path } from '../../values/address.ts'
import { formatCount, pluralize } from '../../values/format.ts'
import { attribute, type Html, html, nothing } from '../../values/html.ts'
import type { Ms } from '../../values/time.ts'
import { section } from '../blocks.ts'
import type { SelectionData } from '../core/writeback-data.ts'
import { hiddenFields } from '../decision-forms.ts'
import type { Page, ProjectFrame } from '../page.ts'
import { foreignText, shortened, spanText } from '../text.ts'
import { statusWords } from '../writeback-words.ts'
import { payloadText } from './reviewed-rows.ts'

type ConfirmView = {
  readonly decision: DecisionName
  readonly data: SelectionData
  /** What the form sends back: the batch, the ids or the outcome. */
  readonly fields: Readonly<Record<string, string | readonly string[]>>
  /** Rows are leaving meanwhile, so the digest cannot name them. */
  readonly isMoving: boolean
  readonly takesMs: Ms | null
  readonly graceMs: Ms
  readonly back: string
}

/** More rows than a person counts at a glance: their number is typed. */
export const typedOver = 50

export function confirmPage(view: ConfirmView, frame: ProjectFrame): Page {
  const { decision, data, fields, isMoving, back } = view
  const { count, digest } = data.named
  const title = `${decisions[decision].title} ${pluralize(count, 'write-back')}`
  if (count === 0) {
    const content = html`<p>There is nothing to decide: no row of it is in a state that this would change.</p><p><a class="button" href="${back}">Back</a></p>`
    return { title: 'Nothing to decide', section: 'Write-backs', content }
  }
  const content = html`${data.batch === null ? nothing : html`<p>Of the batch <a href="${path`/console/p/${frame.project}/batches/${data.batch.id}`}">${foreignText(data.batch.title ?? data.batch.id)}</a>, which has ${pluralize(data.batch.rows, 'row')}.</p>`}
<ul class="consequences">${consequences(view).map((sentence) => html`<li>${sentence}</li>\n`)}</ul>
<form method="post" action="${path`/console/p/${frame.project}/decide`}" class="stacked confirm">${hiddenFields({ decision, ...fields, ...(isMoving ? {} : { digest }) })}
${
  count > typedOver
    ? html`<label>Write the number of write-backs, ${formatCount(count)}
<input name="typed" inputmode="numeric" autocomplete="off" ${attribute('required', true)}></label>`
    : nothing
}
<div class="actions"><button type="submit" class="primary">${title}</button><a class="button" href="${back}">Back</a></div>
<p class="faint">${isMoving ? 'Rows are leaving at this moment: what has left by then stays.' : html`The button names exactly ${count === 1 ? 'this write-back' : `these ${formatCount(count)}`} as ${count === 1 ? 'it is' : 'they are'} now (digest <code>${digest.slice(0, 16)}</code>). If anything of it changes before that, nothing is done, and the answer says what changed.`}</p></form>
${section(data.entries.length < count ? `The first ${formatCount(data.entries.length)} of ${formatCount(count)}` : 'What it is about', entries(data, frame))}`
  return { title, section: 'Write-backs', content }
}

function consequences({ decision, data, takesMs, graceMs }: ConfirmView): readonly (string | Html)[] {
  const operations = data.operations.filter(({ count }) => count > 0)
  const countOf = (operation: Operation) => operations.find((it) => it.operation === operation)?.count ?? 0
  const named = (operation: Operation) =>
    `${formatCount(countOf(operation))} ${operationTypes[operation].words[countOf(operation) === 1 ? 0 : 1]}`
  switch (decision) {
    case 'approve':
    case 'resume':
    case 'retry': {
      const present = operations.map(({ operation }) => operation)
      const lasting = present.filter((it) => operationTypes[it].notRevertible !== null)
      const revertible = present.filter((it) => !lasting.includes(it)).map(named)
      return [
        ...lasting
          .filter((it) => operationTypes[it].isPublic)
          .map(
            (it) =>
              html`<b>${named(it)} ${countOf(it) === 1 ? 'goes to a customer' : 'go to customers'}</b> and cannot be taken back.`,
          ),
        ...lasting.filter((it) => !operationTypes[it].isPublic).map((it) => `${named(it)} cannot be taken back.`),
        ...(revertible.length === 0
          ? []
          : [`${capital(new Intl.ListFormat('en-GB').format(revertible))} can be taken back.`]),
        ...(decision === 'retry'
          ? ['The mirror as it is now counts as what you saw, so look at the conversations first.']
          : []),
        ...(takesMs === null || takesMs === 0 ? [] : [`It takes about ${spanText(takesMs)}.`]),
        ...(decision === 'resume' ? ['“Stop” keeps what has not left by then.'] : []),
        decision !== 'approve'
          ? 'Sending begins at once.'
          : graceMs === 0
            ? 'Sending begins at once, as no grace is configured.'
            : `Nothing leaves for ${spanText(graceMs)} after that, and until then you can undo it.`,
      ]
    }
    case 'cancel':
      return [
        'They are not sent, and “Go on” does not send them either. “Send again” brings them back, each by itself.',
      ]
    default:
      return []
  }
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function entries({ entries: rows }: SelectionData, frame: ProjectFrame): Html {
  return table({
    caption: 'The write-backs that this is about',
    columns: [{ title: 'What' }, { title: 'About' }, { title: 'What is sent' }, { title: 'Status' }],
    rows: rows.map(
      ({ id, operation, visitorName, conversationId, visitorId, lastWords, payload, status, ...terms }) => [
        html`<a href="${path`/console/p/${frame.project}/writebacks/${id}`}">${operationTypes[operation].words[0]}</a>`,
        html`${foreignText(visitorName ?? conversationId ?? visitorId)}${lastWords === null ? nothing : html`<br><span class="faint">“${shortened(lastWords, 120)}”</span>`}`,
        html`${payloadText(payload)}${describeTerms(terms).map((term) => html`<br><span class="faint">${term}</span>`)}`,
        statusWords[status].word,
      ],
    ),
    empty: 'There are none.',
  })
}
