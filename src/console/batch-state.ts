/** How a batch is at this moment, for its page, and in answer to a decision that came too late. */

import { readSendingFacts } from '../app/batches.ts'
import { findOpenGrace, readPace } from '../app/outbox.ts'
import { hasRole } from '../config/people.ts'
import { decisions } from '../outbox/core/decisions.ts'
import { formatCounts } from '../outbox/core/state.ts'
import type { BatchReport } from '../outbox/outbox.ts'
import { describeBatch } from '../outbox/read-reports.ts'
import { withQuery } from '../values/address.ts'
import { formatCount, pluralize } from '../values/format.ts'
import { type Html, html, nothing } from '../values/html.ts'
import type { EpochMs } from '../values/time.ts'
import { addressOf, type Sentence, section, sentences } from './blocks.ts'
import {
  offeredForBatch,
  offeredForSending,
  type Withheld,
  withheldForBatch,
} from './core/permissions.ts'
import type { ProjectFrame } from './frame.ts'
import type { ProjectRequest } from './screen.ts'
import { ageText, ago, by, foreignText, spanText } from './text.ts'
import { batchWordOf, decisionButtons } from './writeback-blocks.ts'

/** Whether all sending of the project is stopped, or its circuit breaker open. */
type SendingNow = Awaited<ReturnType<typeof readSendingFacts>>

/** `undoUntil`: until when an approval of rows of it can be undone; null = it cannot. */
export async function readBatchReport(
  { outbox, warehouse, project }: Pick<ProjectRequest, 'outbox' | 'warehouse' | 'project'>,
  batch: BatchReport['batch'],
) {
  const [report, sending, undoUntil] = await Promise.all([
    readPace(warehouse, project).then((pace) => describeBatch(outbox, pace, batch)),
    readSendingFacts(outbox, warehouse),
    readUndoUntil({ outbox, warehouse }, batch),
  ])
  return { report, sending, undoUntil }
}

async function readUndoUntil(
  { outbox, warehouse }: Pick<ProjectRequest, 'outbox' | 'warehouse'>,
  { id, counts }: BatchReport['batch'],
) {
  if ((counts.queued ?? 0) === 0) return null
  const [queued] = await outbox.list({ batch: id, statuses: ['queued'] }, 1)
  return findOpenGrace(warehouse, queued)
}

type ReadReport = Awaited<ReturnType<typeof readBatchReport>>

/**
 * In place of a decision that does not apply any more: how the batch is, and what can be decided
 * instead.
 */
export async function showNow(request: ProjectRequest, id: string | null): Promise<Html> {
  const { outbox, warehouse, frame } = request
  if (id === null) return sendingNow(await readSendingFacts(outbox, warehouse), frame)
  const batch = await outbox.findBatch(id)
  if (batch === null) return nothing
  const found = await readBatchReport(request, batch)
  const offered = offeredForBatch(found.report, found.undoUntil, frame)
  const content = html`<p>${batchWordOf(batch).word}: ${formatCounts(batch.counts)}</p>
${sentences(batchSentences(found, frame), frame)}
${decisionButtons(offered, { project: frame.project, about: { batch: batch.id } })}`
  return section('As it is now', content)
}

/** What holds all sending of the project, and what can be decided about it. */
export function sendingNow(facts: SendingNow, frame: ProjectFrame): Html {
  return html`${sentences(sendingSentences(facts, frame), frame)}${decisionButtons(offeredForSending(facts, frame), { project: frame.project, about: {} })}`
}

export function sendingSentences({ stop, why }: SendingNow, frame: ProjectFrame): Sentence[] {
  const found: Sentence[] = []
  if (stop !== null)
    found.push({
      kind: 'act',
      text: html`<b>All sending was stopped</b> ${ago(stop.since, frame)}${by(stop.by)}: nothing of
        any batch leaves until a person goes on.`,
    })
  if (why !== null)
    found.push({
      kind: 'wrong',
      text: html`<b>The circuit breaker is open</b>: ${foreignText(why)}`,
    })
  return found
}

/** The same on a page where nothing can be decided about it, with a link to where it can. */
export function holdingSentences(facts: SendingNow, frame: ProjectFrame): Sentence[] {
  const link = { to: addressOf(frame, 'writebacks'), label: 'Write-backs' }
  return sendingSentences(facts, frame).map((sentence) => ({ ...sentence, link }))
}

export function batchSentences(
  { report, undoUntil, sending }: ReadReport,
  frame: ProjectFrame,
): Sentence[] {
  const { batch, estimate, revertible } = report
  const { draft = 0, uncertain = 0, queued = 0 } = batch.counts
  const isStopped = batch.stoppedAt !== null
  const found = batch.state === 'sending' ? holdingSentences(sending, frame) : []
  const add = (kind: Sentence['kind'], text: Html) => void found.push({ kind, text })
  if (isStopped)
    add(
      'act',
      html`<b>Stopped</b> ${ago(batch.stoppedAt, frame)}${by(batch.stoppedBy)}: nothing of it is
        sent unless a person goes on.`,
    )
  if (isStopped && draft > 0 && revertible > 0)
    add(
      'note',
      html`“Take back as drafts” concerns the <b>${pluralize(revertible, 'change')}</b> that
        ${revertible === 1 ? 'has' : 'have'} arrived, and conversations that replies reopened. What arrives after “Go on” can be taken
        back then.`,
    )
  const hasTime = !frame.isReadOnly && estimate.takesMs > 0
  const takes = hasTime ? ` Once it is approved it takes about ${spanText(estimate.takesMs)}.` : ''
  if (!isStopped && draft > 0)
    add(
      'act',
      html`<b>${formatCount(draft)}</b> of ${pluralize(batch.rows, 'write-back')}
        ${draft === 1 ? 'waits' : 'wait'} for approval.${takes}`,
    )
  if (undoUntil !== null)
    add(
      'clock',
      html`<b>Nothing leaves before ${timeWithSeconds(undoUntil, frame)}</b>: until then the
        approval can be undone.`,
    )
  if (uncertain > 0) {
    const to = withQuery(addressOf(frame, 'batches', batch.id), { status: 'uncertain' })
    const text = html`<b>${formatCount(uncertain)}</b> may or may not have arrived. A person has to
      decide.`
    found.push({ kind: 'act', text, link: { to, label: 'Uncertain' } })
  }
  if (estimate.restsUntil !== null && undoUntil === null)
    add(
      'wrong',
      html`Rests until ${timeWithSeconds(estimate.restsUntil, frame)}${estimate.restsBecause === sending.why ? nothing : html`: ${foreignText(estimate.restsBecause)}`}`,
    )
  if (queued > 0 && !estimate.worker && !frame.isReadOnly)
    add(
      'act',
      html`No worker runs, so nothing of it is sent. <code>deskmirror start</code> sends it.`,
    )
  const withheld = withheldForBatch(report, undoUntil, frame)
  if (withheld !== null) add('note', withheldText(withheld, frame))
  return found
}

const namesShown = 5

/** Why a person who may look at it has no button, and who has one. */
function withheldText({ decision, why, role }: Withheld, { people, viewer }: ProjectFrame): Html {
  const may = `${decisions[decision].title.toLowerCase()} it`
  if (why === 'only_shown')
    return html`Nobody can ${may} here: this console only shows what the warehouse has.`
  const others = people.filter(
    (person) => hasRole(person.role, role) && person.name !== viewer?.name,
  )
  const names = others
    .slice(0, namesShown)
    .map(({ name }, n) => html`${n === 0 ? ': ' : ', '}${foreignText(name)}`)
  const more =
    others.length > namesShown ? `, and ${formatCount(others.length - namesShown)} more` : ''
  if (why === 'own') return html`You queued it, so another ${role} has to ${may}${names}${more}.`
  return html`It takes the role ${role} to ${may}${names}${more}. You are signed in as
    ${viewer?.role ?? ''}.`
}

function timeWithSeconds(at: string, { timeZone }: ProjectFrame): Html {
  const text = new Date(at).toLocaleTimeString('sv-SE', { timeZone, hourCycle: 'h23' })
  return html`<time datetime="${at}" title="${at}">${text}</time>`
}

/** `as the mirror showed it at 14:36:10, 4 min after it was last read to its end; …` */
export function reviewAge(
  { at, mirrorAsOf }: { readonly at: EpochMs; readonly mirrorAsOf: string | null },
  frame: ProjectFrame,
): Html {
  const shown = timeWithSeconds(new Date(at).toISOString(), frame)
  const age =
    mirrorAsOf === null
      ? 'which has never been read to its end'
      : `${ageText(at - Date.parse(mirrorAsOf))} after it was last read to its end`
  return html`as the mirror showed it at ${shown}, ${age}; every send looks at the live record
    first`
}

/** `412 of 707 settled · 295 to go, in about 2 min 50 s, at 14:32` */
export function batchProgress(
  { report: { batch, estimate }, sending: { stop } }: Pick<ReadReport, 'report' | 'sending'>,
  { timeZone, now }: Pick<ProjectFrame, 'timeZone' | 'now'>,
) {
  const { draft = 0, queued = 0, sending = 0, ...others } = batch.counts
  const settled = Object.values(others).reduce((sum, count) => sum + count, 0)
  const left = queued + sending
  const clock = new Date(now + estimate.takesMs).toLocaleTimeString('sv-SE', {
    timeZone,
    hourCycle: 'h23',
    hour: '2-digit',
    minute: '2-digit',
  })
  const without = (others.uncertain ?? 0) > 0 ? ', without what waits for a decision' : ''
  // How long a verification takes, nobody knows.
  const forecast =
    queued === 0
      ? ': sent, and not answered yet'
      : estimate.worker && stop === null
        ? `, in about ${spanText(estimate.takesMs)}, at ${clock}${without}`
        : ''
  const toGo =
    left === 0 || batch.state !== 'sending' ? '' : ` · ${formatCount(left)} to go${forecast}`
  return { settled, text: `${formatCount(settled)} of ${formatCount(batch.rows)} settled${toGo}` }
}
