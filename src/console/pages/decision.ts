/** The page before a decision: exactly what it is about. */
import { readSendingFacts } from '../../app/batches.ts'
import { decisions, isAboutProject, isDecision } from '../../outbox/core/decisions.ts'
import { operations, operationTypes } from '../../outbox/core/operations.ts'
import { describeTerms } from '../../outbox/core/review/labels.ts'
import type {
  DecisionName,
  Operation,
  ProjectDecision,
  ReviewOutcome,
} from '../../outbox/outbox.ts'
import { capitalize, formatCount, pluralize } from '../../values/format.ts'
import { attribute, type Html, html, nothing } from '../../values/html.ts'
import { reviewAge, sendingNow, sendingSentences, showNow } from '../batch-state.ts'
import {
  addressOf,
  choices,
  linkTo,
  older,
  section,
  sentences,
  smallPrint,
  table,
} from '../blocks.ts'
import { placeIn, rowsPerPage, toPage } from '../core/list-page.ts'
import { isWithheld, missingRole, offeredForSending } from '../core/permissions.ts'
import {
  confirmAddress,
  type DecisionTarget,
  filterOf,
  readSelection,
  type Selection,
  subjectOf,
  targetOf,
} from '../decisions.ts'
import type { ConsolePage, ProjectFrame } from '../frame.ts'
import { reviewVersion } from '../reviews.ts'
import { type ScreenRequest, visibleTo } from '../screen.ts'
import { foreignText, spanText } from '../text.ts'
import {
  countedText,
  groupList,
  hiddenFields,
  operationsText,
  rankOf,
  statusWords,
} from '../writeback-blocks.ts'
import { answerPage } from './decided.ts'
import { candidateList } from './writeback.ts'
import { aboutCell, effectText, entryCells, payloadText } from './writebacks.ts'

/** More rows than a person counts at a glance: their number is typed. */
export const typedOver = 50

/** The page about what is decided. */
export function backTo(
  frame: Pick<ProjectFrame, 'project'>,
  { batch, ids }: DecisionTarget,
): string {
  return batch === null
    ? addressOf(frame, 'writebacks', ...(ids ?? []).slice(0, 1))
    : addressOf(frame, 'batches', batch)
}

/** About all sending of the project: what it means, and what is so now. */
async function confirmSending(
  { outbox, warehouse, frame }: ScreenRequest,
  decision: ProjectDecision,
): Promise<ConsolePage> {
  const facts = await readSendingFacts(outbox, warehouse)
  const isOffered = offeredForSending(facts, frame).includes(decision)
  const { title, consequence } = decisions[decision]
  const form = html`<form method="post" action="${addressOf(frame, 'decide')}"
    class="stacked confirm">${hiddenFields({ decision })}
<div class="actions"><button type="submit"
  class="${rankOf(decision) ?? 'primary'}">${title}</button><a class="button"
  href="${addressOf(frame, 'writebacks')}">Back</a></div></form>`
  const content = isOffered
    ? html`${sentences(sendingSentences(facts, frame), frame)}<p>${consequence ?? ''}</p>${form}`
    : html`<p>There is nothing to decide any more.</p>${sendingNow(facts, frame)}`
  return {
    title: isOffered ? `${title} of ${frame.project}` : 'Nothing to decide',
    section: 'Write-backs',
    content,
  }
}

export async function showConfirmation(request: ScreenRequest): Promise<ConsolePage | null> {
  const { reads, project, frame, all, query } = request
  const decision = query('decision')
  const target = isDecision(decision) ? targetOf(all, decision) : null
  if (!isDecision(decision) || target === null) return null
  if (isAboutProject(decision)) return confirmSending(request, decision)
  const { batch, ids, would } = target
  const filter = await filterOf(reads.reviews, project, decision, target)
  const only = operations.find((operation) => operation === query('only')) ?? null
  const after = placeIn(query('after'))
  const selection = await readSelection(request, filter, rowsPerPage + 1, { only, after })
  const { named, counts, batch: whole } = selection
  const { count, digest } = named
  const { queued = 0, sending = 0 } = whole?.counts ?? {}
  // Rows are leaving meanwhile, so the digest cannot name them.
  const isMoving = decision === 'cancel' && ids === null && would === null && queued + sending > 0
  const back = backTo(frame, target)
  const kinds = operations.filter((operation) => (counts[operation] ?? 0) > 0).length
  const about = kinds === 1 ? operationsText(counts) : pluralize(count, 'write-back')
  const title = `${decisions[decision].title} ${about}`
  const subject = subjectOf(selection, ids)
  const role = frame.viewer && missingRole(frame.viewer, decision, subject)
  if (role !== null) {
    const content = html`<p class="problem">This needs the role ${role}.</p>`
    return answerPage('Not allowed', content, back, 'Back')
  }
  if (isWithheld(decision, frame, subject)) {
    const content = html`<p class="problem">Nobody approves what they queued themselves, or sends it
      again where it may have arrived (approve_own: off).</p>
${await showNow(request, batch)}`
    return answerPage('Not allowed', content, back, 'Back')
  }
  if (count === 0 || (decision === 'approve' && (whole?.stoppedAt ?? null) !== null)) {
    const content = html`<p>There is nothing to decide: no row of it is in a state that this would
      change.</p>${await showNow(request, batch)}`
    return answerPage('Nothing to decide', content, back, 'Back')
  }
  const fields = hiddenFields({ decision, batch, id: ids, would, digest: isMoving ? null : digest })
  const [single, ...more] = decision === 'retry' ? (ids ?? []) : []
  const candidates =
    single === undefined || more.length > 0 ? [] : await request.outbox.readCandidates(single)
  const again =
    decision === 'retry' ? arrivedBefore(selection.mayHaveArrived, frame.approveOwn) : []
  const said = [...again, ...consequences(decision, selection, project)]
  const number = html`<label>Write the number of write-backs, ${formatCount(count)}${
    kinds === 1 ? nothing : html` (${operationsText(counts)})`
  }
<input name="typed" inputmode="numeric" autocomplete="off" ${attribute('required', true)}></label>`
  const these = count === 1 ? 'this write-back as it is' : `these ${formatCount(count)} as they are`
  const exactly = html`The button names exactly ${these} now (digest
    <code>${digest.slice(0, 16)}</code>). If anything of it changes before that, nothing is done,
    and the answer says what changed.`
  const batchLink =
    whole &&
    html`<p>Of the batch ${linkTo(frame, 'batches', whole.id, foreignText(whole.title ?? whole.id))}, which has ${pluralize(whole.rows, 'row')}.</p>`
  const isReviewed = whole !== null && (decision === 'approve' || decision === 'resume')
  const review = isReviewed ? await readReview(request, whole) : null
  const content = html`${batchLink}
<ul class="consequences">${said.map((sentence) => html`<li>${sentence}</li>\n`)}</ul>
${isReviewed ? effects(review, count, would, frame) : nothing}
${candidateList(visibleTo(frame, candidates), null, frame)}
<form method="post" action="${addressOf(frame, 'decide')}" class="stacked confirm">${fields}
${count > typedOver ? number : nothing}
<div class="actions"><button type="submit"
  class="${rankOf(decision) ?? 'primary'}">${title}</button><a class="button"
  href="${back}">Back</a></div>
<p class="faint">${isMoving ? 'Rows may leave before that: what has left by then stays.' : exactly}</p></form>
${rows({ decision, target, only, selection: visibleTo(frame, selection), review }, frame)}`
  return { title, section: 'Write-backs', content }
}

/** What is sent again may be there already. */
function arrivedBefore(count: number, approveOwn: boolean): readonly string[] {
  if (count === 0) return []
  const which =
    `${formatCount(count)} of these may have arrived already, and would ` +
    'reach a customer twice.'
  const looks =
    'Just before it is sent, the conversation is read again: a message that has appeared ' +
    'since stops it once.'
  return approveOwn
    ? [which, looks]
    : [`${which} Nobody sends their own again (approve_own: off).`, looks]
}

type Review = NonNullable<Awaited<ReturnType<ScreenRequest['reads']['reviews']['ofBatch']>>>

/**
 * What the rows of the batch would do that have not left: as its page says. Null: it is still being
 * read.
 */
async function readReview(
  { reads, project, frame }: ScreenRequest,
  batch: NonNullable<Selection['batch']>,
): Promise<Review | null> {
  const version = reviewVersion(batch.counts)
  return visibleTo(frame, await reads.reviews.ofBatch(project, batch.id, version))
}

function effects(
  review: Review | null,
  count: number,
  would: ReviewOutcome | null,
  frame: ProjectFrame,
): Html {
  if (review === null)
    return html`<p class="problem">What they would do is still being read. Look again in a
      moment.</p>`
  const { groups, counts } = review
  const shown = would === null ? groups : groups.filter(({ outcome }) => outcome === would)
  const total = Object.values(would === null ? counts : { would: counts[would] }).reduce(
    (sum, n) => sum + n,
    0,
  )
  const which =
    total === count
      ? 'What they would do'
      : `What all ${formatCount(total)} rows would do that have not left`
  return html`<p>${which}, ${reviewAge(review, frame)}:</p>${groupList(shown)}`
}

type RowsToShow = {
  readonly decision: DecisionName
  readonly target: DecisionTarget
  readonly only: Operation | null
  readonly selection: Selection
  readonly review: Review | null
}

/** A page of what is decided. The decision is about all of it, whichever page is shown. */
function rows(
  { decision, target, only, selection, review }: RowsToShow,
  frame: ProjectFrame,
): Html {
  const { entries, counts, named } = selection
  const present = operations.filter((operation) => (counts[operation] ?? 0) > 0)
  const kinds = [null, ...present].map((operation) => ({
    label:
      operation === null ? `All (${formatCount(named.count)})` : countedText(operation, counts),
    to: confirmAddress(frame, decision, target, { only: operation }),
    isChosen: operation === only,
  }))
  const { rows, next: after } = toPage(entries, rowsPerPage, ({ seq }) => seq)
  const next = after === null ? null : confirmAddress(frame, decision, target, { only, after })
  const content = html`${present.length > 1 ? choices('Kinds of write-backs', kinds) : nothing}${selectionTable(rows, review, frame)}${older(next, 'Next rows')}`
  return section('What it is about', content)
}

function consequences(
  decision: DecisionName,
  { counts, takesMs }: Selection,
  { approveGraceMs }: ScreenRequest['project'],
): readonly (string | Html)[] {
  if (decision === 'cancel')
    return [
      'They are not sent, and “Go on” does not send them either. ' +
        '“Retry” brings them back, each by itself.',
    ]
  if (decision !== 'approve' && decision !== 'resume' && decision !== 'retry') return []
  const countOf = (operation: Operation) => counts[operation] ?? 0
  const named = (operation: Operation) => countedText(operation, counts)
  const present = operations.filter((operation) => countOf(operation) > 0)
  const lasting = present.filter((it) => operationTypes[it].notRevertible !== null)
  const revertible = new Intl.ListFormat('en-GB').format(
    present.filter((it) => !lasting.includes(it)).map(named),
  )
  const goes = (it: Operation) => (countOf(it) === 1 ? 'goes to a customer' : 'go to customers')
  const toCustomers = lasting.filter((it) => operationTypes[it].isPublic)
  const others = lasting.filter((it) => !operationTypes[it].isPublic)
  const begins =
    decision !== 'approve'
      ? 'Sending begins at once.'
      : approveGraceMs === 0
        ? 'Sending begins at once, as no grace is configured.'
        : `Nothing leaves for ${spanText(approveGraceMs)} after that, and until then you can undo it.`
  const seen = 'The mirror as it is now counts as what you saw, so look at the conversations first.'
  return [
    ...toCustomers.map((it) => html`<b>${named(it)} ${goes(it)}</b> and cannot be taken back.`),
    ...others.map((it) => `${named(it)} cannot be taken back.`),
    ...(revertible === '' ? [] : [`${capitalize(revertible)} can be taken back.`]),
    ...(decision === 'retry' ? [seen] : []),
    ...(takesMs === 0 ? [] : [`It takes about ${spanText(takesMs)}.`]),
    ...(decision === 'resume' ? ['“Stop” keeps what has not left by then.'] : []),
    begins,
  ]
}

function selectionTable(
  entries: Selection['entries'],
  review: Review | null,
  frame: ProjectFrame,
): Html {
  const reviewed = new Map(review?.rows.map((row) => [row.id, row]))
  return table(
    'The write-backs that this is about',
    ['What', 'About', 'What is sent', review === null ? 'Status' : 'Effect'],
    entries.map((entry) => {
      const { id, payload, status } = entry
      const effect = reviewed.get(id)
      return [
        entryCells.What(entry, frame),
        aboutCell(entry, frame),
        // The effect names its conditions.
        html`${payloadText(payload)}${effect === undefined ? describeTerms(entry).map(smallPrint) : nothing}`,
        effect === undefined ? statusWords[status].word : effectText(effect),
      ]
    }),
    'No row follows.',
  )
}
