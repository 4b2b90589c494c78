/**
 * The page after a decision that was not made, or not for all rows: what it did not do, or what has
 * changed.
 */

import { decisions } from '../../outbox/core/decisions.ts'
import { operationTypes } from '../../outbox/core/operations.ts'
import { formatCounts } from '../../outbox/core/state.ts'
import type { DecisionName, RevertReport, SelectionMismatch } from '../../outbox/outbox.ts'
import { formatCount, pluralize } from '../../values/format.ts'
import { type Html, html, nothing } from '../../values/html.ts'
import { linkTo, section, table } from '../blocks.ts'
import type { MadeDecision } from '../decisions.ts'
import type { ConsolePage, ProjectFrame } from '../frame.ts'
import { foreignText, timeOf } from '../text.ts'
import { statusWords, stepText } from '../writeback-blocks.ts'

/** `to`: where it is shown. `asItIs`: what can be decided about it now. */
type Answer = { readonly to: string; readonly asItIs: Html }

/** `to`: where to go on from there. */
export function answerPage(
  title: string,
  content: Html,
  to: string,
  label = 'Show it',
): ConsolePage {
  const link = html`<p><a class="button" href="${to}">${label}</a></p>`
  return { title, section: 'Write-backs', content: html`${content}${link}` }
}

/** In place of a decision that cannot be made as things are. */
export function unchangedPage(why: string, { to, asItIs }: Answer): ConsolePage {
  return answerPage('Nothing was changed', html`<p class="problem">${why}</p>${asItIs}`, to)
}

/**
 * In place of a decision whose rows have changed since they were shown: what differs, and where to
 * look again.
 */
export function movedPage(
  { now, counts, steps }: SelectionMismatch,
  { to, asItIs }: Answer,
  frame: ProjectFrame,
): ConsolePage {
  const latest = table(
    'The latest steps of these write-backs, the newest first',
    ['When', '#Row', 'Write-back', 'Step', 'Who', 'Why'],
    steps.map((step) => [
      timeOf(step.at, frame),
      step.sourceRow === null ? '–' : String(step.sourceRow),
      linkTo(frame, 'writebacks', step.writebackId, foreignText(step.writebackId)),
      stepText(step),
      foreignText(step.person),
      foreignText(step.detail),
    ]),
    'No step of them is known: rows were added to the batch or left it.',
  )
  const content = html`<p class="problem">Nothing was changed: what you were shown is not what is
    there now.</p>
<p>Now this is about ${pluralize(now.count, 'write-back')}. All of the selection:
  ${formatCounts(counts)}.</p>
<p><a class="button primary" href="${to}">Look again</a></p>
${asItIs}
${section('The latest steps', latest)}`
  return { title: 'This has changed', section: 'Write-backs', content }
}

/** What a decision did, if it did not do all of what was asked: the rows that stayed, and why. */
export function resultPage(
  decision: DecisionName,
  { moved, stayed, inFlight, revert }: MadeDecision,
  { to, asItIs }: Answer,
  frame: ProjectFrame,
): ConsolePage {
  const stayedTable = table(
    'Rows that stayed as they were',
    ['#Rows', 'Status', 'Why'],
    stayed.map(({ count, status, why }) => [count, statusWords[status].word, foreignText(why)]),
  )
  const { label, made } = decisions[decision]
  const outcome =
    moved === 0 ? `“${label}” does not apply any more.` : `${formatCount(moved)} ${made}.`
  const content = html`<p><b>${outcome}</b>${inFlight > 0 ? ` ${formatCount(inFlight)} in flight cannot be called back.` : ''}</p>
${moved === 0 ? asItIs : nothing}
${stayed.length === 0 ? nothing : section('These stayed as they were', stayedTable)}
${revert === null || revert.notReverted.length === 0 ? nothing : notReverted(revert, frame)}`
  return answerPage(moved === 0 ? 'Nothing was changed' : 'Done in part', content, to)
}

function notReverted({ notReverted: rows, counts }: RevertReport, frame: ProjectFrame): Html {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const groups = [...Map.groupBy(rows, ({ operation, why }) => `${operation} ${why}`).values()]
  const content = table(
    'Why rows are not taken back',
    ['#Rows', 'Why', 'For example'],
    groups.flatMap((group) => {
      const examples = group.slice(0, 1)
      return examples.map(({ id, operation, why }) => [
        group.length,
        foreignText(why),
        linkTo(frame, 'writebacks', id, operationTypes[operation].words[0]),
      ])
    }),
  )
  const shown =
    rows.length < total ? `, of which these are the first ${formatCount(rows.length)}` : ''
  return section(
    `${pluralize(total, 'row')} ${total === 1 ? 'is' : 'are'} not taken back${shown}`,
    content,
  )
}
