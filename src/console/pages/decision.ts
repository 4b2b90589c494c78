/** The pages of a decision: before it, exactly what it is about; afterwards, what it did not do, or what has changed. */
import { readSlotLimits } from '../../app/request-budgets.ts'
import { estimateBatchMs } from '../../outbox/core/batches.ts'
import { decisions, isDecision } from '../../outbox/core/decisions.ts'
import { operations, operationTypes } from '../../outbox/core/operations.ts'
import { describeTerms } from '../../outbox/core/review-labels.ts'
import type { DecisionName, Operation, RevertReport, SelectionMismatch } from '../../outbox/outbox.ts'
import { formatCount, pluralize } from '../../values/format.ts'
import { attribute, type Html, html, nothing } from '../../values/html.ts'
import type { Ms } from '../../values/time.ts'
import { showNow } from '../batch-state.ts'
import { addressOf, linkTo, section, table } from '../blocks.ts'
import {
  type DecisionTarget,
  filterOf,
  type MadeDecision,
  readSelection,
  type Selection,
  targetOf,
} from '../decisions.ts'
import type { Page, ProjectFrame } from '../layout.ts'
import { type ScreenRequest, visibleTo } from '../screen.ts'
import { foreignText, spanText, timeOf } from '../text.ts'
import { countsText, hiddenFields, statusWords, stepText } from '../writeback-blocks.ts'
import { payloadText, quoted } from './writebacks.ts'

/** More rows than a person counts at a glance: their number is typed. */
export const typedOver = 50
/** Rows that a person sees before they confirm. */
const rowsShown = 50

/** The page about what is decided. */
export function backTo(frame: Pick<ProjectFrame, 'project'>, { batch, ids }: DecisionTarget): string {
  return batch === null ? addressOf(frame, 'writebacks', ids?.[0] ?? '') : addressOf(frame, 'batches', batch)
}

export async function showConfirmation(request: ScreenRequest): Promise<Page | null> {
  const { reads, warehouse, project, frame, all, query, signal } = request
  const decision = query('decision')
  const target = targetOf(all)
  if (!isDecision(decision) || target === null) return null
  const { batch, ids, would } = target
  const filter = await filterOf(reads.reviews, project, decision, target, signal)
  const selection = await readSelection(warehouse, project, filter, rowsShown)
  const { queued = 0, sending = 0 } = selection.batch?.counts ?? {}
  // Rows are leaving meanwhile, so the digest cannot name them.
  const isMoving = decision === 'cancel' && ids === null && would === null && queued + sending > 0
  const takesMs = estimateBatchMs(await readSlotLimits(warehouse, project), selection.counts, 0)
  const { named, entries, counts, batch: whole } = visibleTo(frame, selection)
  const { count, digest } = named
  const back = backTo(frame, target)
  const title = `${decisions[decision].title} ${pluralize(count, 'write-back')}`
  if (count === 0 || (decision === 'approve' && (whole?.stoppedAt ?? null) !== null)) {
    const now = await showNow(request.outbox, warehouse, project, { id: batch, frame })
    const content = html`<p>There is nothing to decide: no row of it is in a state that this would change.</p>${now}<p><a class="button" href="${back}">Back</a></p>`
    return { title: 'Nothing to decide', section: 'Write-backs', content }
  }
  const fields = hiddenFields({
    ...{ decision, ...(batch === null ? {} : { batch }), ...(ids === null ? {} : { id: ids }) },
    ...{ ...(would === null ? {} : { would }), ...(isMoving ? {} : { digest }) },
  })
  const said = consequences(decision, counts, takesMs, project.approveGraceMs)
  const number = html`<label>Write the number of write-backs, ${formatCount(count)}
<input name="typed" inputmode="numeric" autocomplete="off" ${attribute('required', true)}></label>`
  const these = count === 1 ? 'this write-back as it is' : `these ${formatCount(count)} as they are`
  const exactly = html`The button names exactly ${these} now (digest <code>${digest.slice(0, 16)}</code>). If anything of it changes before that, nothing is done, and the answer says what changed.`
  const batchLink =
    whole &&
    html`<p>Of the batch ${linkTo(frame, 'batches', whole.id, foreignText(whole.title ?? whole.id))}, which has ${pluralize(whole.rows, 'row')}.</p>`
  const heading =
    entries.length < count ? `The first ${formatCount(entries.length)} of ${formatCount(count)}` : 'What it is about'
  const content = html`${batchLink}
<ul class="consequences">${said.map((sentence) => html`<li>${sentence}</li>\n`)}</ul>
<form method="post" action="${addressOf(frame, 'decide')}" class="stacked confirm">${fields}
${count > typedOver ? number : nothing}
<div class="actions"><button type="submit" class="primary">${title}</button><a class="button" href="${back}">Back</a></div>
<p class="faint">${isMoving ? 'Rows are leaving at this moment: what has left by then stays.' : exactly}</p></form>
${section(heading, entryTable(entries, frame))}`
  return { title, section: 'Write-backs', content }
}

function consequences(
  decision: DecisionName,
  counts: Selection['counts'],
  takesMs: Ms,
  graceMs: Ms,
): readonly (string | Html)[] {
  if (decision === 'cancel')
    return ['They are not sent, and “Go on” does not send them either. “Send again” brings them back, each by itself.']
  if (decision !== 'approve' && decision !== 'resume' && decision !== 'retry') return []
  const countOf = (operation: Operation) => counts[operation] ?? 0
  const named = (operation: Operation) =>
    `${formatCount(countOf(operation))} ${operationTypes[operation].words[countOf(operation) === 1 ? 0 : 1]}`
  const present = operations.filter((operation) => countOf(operation) > 0)
  const lasting = present.filter((it) => operationTypes[it].notRevertible !== null)
  const revertible = new Intl.ListFormat('en-GB').format(present.filter((it) => !lasting.includes(it)).map(named))
  const goes = (it: Operation) => (countOf(it) === 1 ? 'goes to a customer' : 'go to customers')
  const toCustomers = lasting.filter((it) => operationTypes[it].isPublic)
  const others = lasting.filter((it) => !operationTypes[it].isPublic)
  const begins =
    decision !== 'approve'
      ? 'Sending begins at once.'
      : graceMs === 0
        ? 'Sending begins at once, as no grace is configured.'
        : `Nothing leaves for ${spanText(graceMs)} after that, and until then you can undo it.`
  const seen = 'The mirror as it is now counts as what you saw, so look at the conversations first.'
  return [
    ...toCustomers.map((it) => html`<b>${named(it)} ${goes(it)}</b> and cannot be taken back.`),
    ...others.map((it) => `${named(it)} cannot be taken back.`),
    ...(revertible === '' ? [] : [`${revertible.charAt(0).toUpperCase()}${revertible.slice(1)} can be taken back.`]),
    ...(decision === 'retry' ? [seen] : []),
    ...(takesMs === 0 ? [] : [`It takes about ${spanText(takesMs)}.`]),
    ...(decision === 'resume' ? ['“Stop” keeps what has not left by then.'] : []),
    begins,
  ]
}

function entryTable(entries: Selection['entries'], frame: ProjectFrame): Html {
  return table(
    'The write-backs that this is about',
    ['What', 'About', 'What is sent', 'Status'],
    entries.map(({ id, operation, visitorName, conversationId, visitorId, lastWords, payload, status, ...terms }) => [
      linkTo(frame, 'writebacks', id, operationTypes[operation].words[0]),
      html`${foreignText(visitorName ?? conversationId ?? visitorId)}${quoted(lastWords)}`,
      html`${payloadText(payload)}${describeTerms(terms).map((term) => html`<br><span class="faint">${term}</span>`)}`,
      statusWords[status].word,
    ]),
  )
}

/** `to`: where it is shown. `asItIs`: what can be decided about it now. */
type Answer = { readonly to: string; readonly asItIs: Html }

/** In place of a decision that cannot be made as things are. */
export function unchangedPage(why: string, { to, asItIs }: Answer): Page {
  const content = html`<p class="problem">${why}</p>${asItIs}<p><a class="button" href="${to}">Show it</a></p>`
  return { title: 'Nothing was changed', section: 'Write-backs', content }
}

/** In place of a decision whose rows have changed since they were shown: what differs, and where to look again. */
export function movedPage(
  { now, counts, steps }: SelectionMismatch,
  { to, asItIs }: Answer,
  frame: ProjectFrame,
): Page {
  const latest = table(
    'The latest steps of these write-backs, the newest first',
    ['When', 'Write-back', 'Step', 'Who', 'Why'],
    steps.map((step) => [
      timeOf(step.at, frame),
      linkTo(frame, 'writebacks', step.writebackId, foreignText(step.writebackId)),
      stepText(step),
      foreignText(step.person),
      foreignText(step.detail),
    ]),
    'No step of them is known: rows were added to the batch or left it.',
  )
  const content = html`<p class="problem">Nothing was changed: what you were shown is not what is there now.</p>
<p>Now this is about ${pluralize(now.count, 'write-back')}. All of the selection: ${countsText(counts)}.</p>
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
): Page {
  const stayedTable = table(
    'Rows that stayed as they were',
    ['#Rows', 'Status', 'Why'],
    stayed.map(({ count, status, why }) => [count, statusWords[status].word, foreignText(why)]),
  )
  const { label, made } = decisions[decision]
  const outcome = moved === 0 ? `“${label}” does not apply any more.` : `${formatCount(moved)} ${made}.`
  const content = html`<p><b>${outcome}</b>${inFlight > 0 ? ` ${formatCount(inFlight)} in flight cannot be called back.` : ''}</p>
${moved === 0 ? asItIs : nothing}
${stayed.length === 0 ? nothing : section('These stayed as they were', stayedTable)}
${revert === null || revert.notReverted.length === 0 ? nothing : notReverted(revert, frame)}
<p><a class="button" href="${to}">Show it</a></p>`
  return { title: moved === 0 ? 'Nothing was changed' : 'Done in part', section: 'Write-backs', content }
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
  const shown = rows.length < total ? `, of which these are the first ${formatCount(rows.length)}` : ''
  return section(`${pluralize(total, 'row')} ${total === 1 ? 'is' : 'are'} not taken back${shown}`, content)
}
