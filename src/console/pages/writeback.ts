/**
 * One write-back: what it sends, where it stands, its history; an uncertain one beside the thread.
 */
import { findOpenGrace } from '../../app/outbox.ts'
import { operationTypes } from '../../outbox/core/operations.ts'
import type { Candidate, NamedEntry } from '../../outbox/outbox.ts'
import { readWriteback } from '../../outbox/read-reports.ts'
import { withOutboxSnapshot } from '../../outbox/sql/outbox.ts'
import { pluralize } from '../../values/format.ts'
import { type Html, html, nothing } from '../../values/html.ts'
import { normalizeText } from '../../values/invisible.ts'
import { facts, linkTo, section, table, visitorLink } from '../blocks.ts'
import { offeredForWriteback } from '../core/permissions.ts'
import type { ConsolePage, ProjectFrame } from '../frame.ts'
import { type ScreenRequest, visibleTo } from '../screen.ts'
import { type ConversationData, readConversation } from '../sql/conversations.ts'
import { ago, by, exactStart, foreignText, timeOf } from '../text.ts'
import { decisionButtons, statusOf, statusWords, stepText } from '../writeback-blocks.ts'
import { type MarkOf, thread } from './conversations.ts'
import { payloadText } from './writebacks.ts'

export async function showWriteback(request: ScreenRequest): Promise<ConsolePage | null> {
  const { db, frame } = request
  const read = await readWithCandidates(request)
  if (read === null) return null
  const { found, unread } = read
  const { writeback, ...report } = visibleTo(frame, found.report)
  const offered = offeredForWriteback(writeback, found.undoUntil, frame, found.mayHaveArrived)
  const { digest } = found.named
  const conversation =
    writeback.conversationId === null
      ? null
      : await readConversation(db, writeback.conversationId, null)
  const history = table(
    'What happened to it, the oldest first',
    ['When', 'Status', 'Who', 'Why', 'Request'],
    report.events.map((event) => [
      timeOf(event.at, frame),
      stepText(event),
      foreignText(event.person),
      foreignText(event.detail),
      foreignText(event.requestId),
    ]),
    'Nothing has happened yet.',
  )
  const why = writeback.error ?? writeback.reason
  const about = html`<p>${statusOf(writeback.status, frame)} ·
    ${statusWords[writeback.status].sentence}${why === null ? nothing : html` ${foreignText(why)}`}</p>
<div class="sent">${payloadText(writeback.payload)}</div>
${candidateList(report.candidates, unread, frame)}
${offered.length === 0 ? nothing : uncertainHelp(writeback, frame)}
${decisionButtons(offered, { project: frame.project, about: { id: writeback.id }, digest })}
${factsOf({ writeback, ...report }, frame)}`
  const content = html`<div
    class="beside"><div>${about}</div><div>${around({ writeback, ...report }, visibleTo(frame, conversation), frame)}</div></div>
${section('History', history)}`
  return {
    title: `One ${operationTypes[writeback.operation].words[0]}`,
    section: 'Write-backs',
    content,
  }
}

/**
 * What may be it is read from the service now, unless the mirror has it. `unread`: why it is still
 * not there.
 */
async function readWithCandidates(request: ScreenRequest) {
  const found = await readWritebackData(request)
  if (found === null || !isUnread(found)) return found && { found, unread: null }
  const conversation = found.report.writeback.conversationId
  if (conversation === null) return { found, unread: null }
  if (request.readNow === null)
    return {
      found,
      unread:
        'This console shows what the mirror has and reads nothing from ' +
        'the service: look in the app.',
    }
  const { why } = await request.readNow('messages', conversation)
  const again = await readWritebackData(request)
  if (again === null) return null
  const missing = 'The service does not show it any more.'
  return {
    found: again,
    unread: isUnread(again) ? (why === null ? missing : `It could not be read: ${why}.`) : null,
  }
}

type WritebackData = NonNullable<Awaited<ReturnType<typeof readWritebackData>>>

function isUnread({ report }: WritebackData): boolean {
  return report.candidates.some(({ isMirrored }) => !isMirrored)
}

/**
 * `named`: names it as it is shown. `undoUntil`: until when its approval can be undone; null =
 * it cannot.
 */
export async function readWritebackData({
  warehouse,
  project,
  id,
}: Pick<ScreenRequest, 'warehouse' | 'project' | 'id'>) {
  const found = await withOutboxSnapshot(warehouse.projectDb(project.projectId), async (outbox) => {
    const named = await outbox.digestOf({ ids: [id] })
    if (named.count === 0) return null
    const mayHaveArrived = (await outbox.countMayHaveArrived({ ids: [id] })) > 0
    return { named, mayHaveArrived, report: await readWriteback(outbox, id) }
  })
  return found && { ...found, undoUntil: await findOpenGrace(warehouse, found.report.writeback) }
}

/**
 * What decided that a person has to look, as far as it is known here. `unread`: why the rest is
 * not.
 */
export function candidateList(
  candidates: readonly Candidate[],
  unread: string | null,
  frame: ProjectFrame,
): Html {
  if (candidates.length === 0) return nothing
  const items = candidates.map(({ id, isMirrored, at, name, content }) => {
    const head = html`<b>${mayBeIt}</b> · message ${foreignText(id)}`
    const known = html` · ${foreignText(name)} ·
      ${timeOf(at, frame)}</p><p>${exactStart(content, shownOfCandidate)}`
    return html`<li class="team marked"><p
      class="by">${head}${isMirrored ? known : html` · not in the mirror yet`}</p></li>\n`
  })
  const why = unread === null ? nothing : html`<p class="problem">${unread}</p>`
  return section(
    'What may be it',
    html`${why}<ol class="thread" aria-label="What may be it">${items}</ol>`,
  )
}

const mayBeIt = 'May be this reply'
const shownOfCandidate = 2000

function uncertainHelp({ status, operation, sentAt }: NamedEntry, frame: ProjectFrame): Html {
  if (status !== 'uncertain') return nothing
  const where =
    operation === 'message'
      ? 'In the conversation, messages that may be this reply, or have its words, are marked. ' +
        'Look for it in the app, too'
      : 'Look in the app whether it is there'
  return html`<p>${where}, then say what you found: what waits behind it goes on. It was sent
    ${sentAt === null ? 'at a time that is not known' : html`at ${timeOf(sentAt, frame)}`}. One that
    did not arrive becomes “failed”; after that it can be sent again.</p>`
}

type WritebackReport = Awaited<ReturnType<typeof readWriteback>>

function factsOf({ writeback, waitsFor, holds }: WritebackReport, frame: ProjectFrame) {
  const {
    conversationId,
    visitorId,
    visitorName,
    batchId,
    sourceRow,
    foundBy,
    createdBy,
    approvedBy,
    decidedBy,
  } = writeback
  const { attempts, sentAt, finishedAt, expiresAt } = writeback
  const link = (folder: string, id: string, text: string | null = null) =>
    linkTo(frame, folder, id, foreignText(text ?? id))
  const target =
    conversationId !== null
      ? link('conversations', conversationId, visitorName)
      : visitorId !== null
        ? link('visitors', visitorId, visitorName)
        : foreignText(null)
  const unless = (text: string | null) => (text === null ? null : foreignText(text))
  return facts([
    ['About', target],
    [
      'Visitor',
      conversationId === null
        ? null
        : visitorLink(frame, writeback, html`all that was sent to this visitor`),
    ],
    ['Found by', unless(foundBy)],
    ['Batch', batchId === null ? null : link('batches', batchId)],
    ['Row of its file', sourceRow === null ? null : String(sourceRow)],
    ['Queued', html`${ago(writeback.createdAt, frame)}${by(createdBy)}`],
    ['Approved', approvedBy === null ? null : by(approvedBy)],
    ['Last decision', decidedBy === null ? null : by(decidedBy)],
    [
      'Sent',
      attempts === 0
        ? null
        : html`${pluralize(attempts, 'time')}, last at ${timeOf(sentAt, frame)}`,
    ],
    ['Settled', finishedAt === null ? null : timeOf(finishedAt, frame)],
    [
      'Waits for',
      waitsFor &&
        html`${link('writebacks', waitsFor.id)}, which is ${statusWords[waitsFor.status].word}`,
    ],
    ['Holds', holds === 0 ? null : `${pluralize(holds, 'write-back')} behind it`],
    ['Expects', unless(writeback.expect)],
    ['Expires', expiresAt === null ? null : timeOf(expiresAt, frame)],
    ['Ref', unless(writeback.ref)],
    ['Request', unless(writeback.requestId)],
    ['Message', unless(writeback.messageId)],
    ['Id', foreignText(writeback.id)],
  ])
}

/**
 * The thread in which it stands or would stand. Of an uncertain reply, what may be it is marked.
 */
function around(
  { writeback, candidates }: Pick<WritebackReport, 'writeback' | 'candidates'>,
  conversation: ConversationData | null,
  frame: ProjectFrame,
): Html {
  if (conversation === null) return nothing
  const content = writeback.payload?.content
  const isReply =
    writeback.operation === 'message' &&
    writeback.status === 'uncertain' &&
    typeof content === 'string'
  const ids = new Set(candidates.map(({ id }) => id))
  const markOf: MarkOf = ({ id, content: text, at }) => {
    if (isReply && matchesReply({ text, at }, { content, sentAt: writeback.sentAt }))
      return 'The same words'
    return ids.has(id) ? mayBeIt : null
  }
  return section('The conversation', thread(conversation, frame, markOf))
}

/** Clocks of two machines may differ by this much. */
const clockToleranceMs = 120_000

export function matchesReply(
  message: { readonly text: string | null; readonly at: string | null },
  reply: { readonly content: string; readonly sentAt: string | null },
): boolean {
  if (message.text === null || normalizeText(message.text) !== normalizeText(reply.content))
    return false
  if (message.at === null || reply.sentAt === null) return true
  return Date.parse(message.at) >= Date.parse(reply.sentAt) - clockToleranceMs
}
