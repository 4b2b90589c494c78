/** One write-back: what it sends, where it stands, its history; an uncertain one beside the thread. */

import { table } from '../../document/table.ts'
import type { DecisionName } from '../../outbox/core/decisions.ts'
import type { NamedEntry } from '../../outbox/core/outbox-entry.ts'
import { describeVerdict } from '../../outbox/core/review-labels.ts'
import { operationTypes } from '../../outbox/core/writeback-request.ts'
import { path } from '../../values/address.ts'
import { pluralize } from '../../values/format.ts'
import { type Html, html, nothing } from '../../values/html.ts'
import { facts, section } from '../blocks.ts'
import type { WritebackData } from '../core/writeback-data.ts'
import { decisionButtons } from '../decision-forms.ts'
import type { Page, ProjectFrame } from '../page.ts'
import { ago, foreignText, timeOf } from '../text.ts'
import { statusOf, statusWords } from '../writeback-words.ts'
import { thread } from './conversation.ts'
import { payloadText } from './reviewed-rows.ts'

type WritebackView = {
  readonly data: WritebackData
  readonly offered: readonly DecisionName[]
}

export function writebackPage({ data, offered }: WritebackView, frame: ProjectFrame): Page {
  const { writeback } = data.report
  const [one] = operationTypes[writeback.operation].words
  const form = { project: frame.project, about: { id: writeback.id }, digest: data.named.digest }
  const about = html`<p>${statusOf(writeback.status, frame)} · ${statusWords[writeback.status].sentence}${why(writeback)}</p>
<div class="sent">${payloadText(writeback.payload)}</div>
${uncertainHelp(writeback, frame)}
${decisionButtons(offered, form)}
${facts(factsOf(data, frame))}`
  const content = html`<div class="beside"><div>${about}</div><div>${around(data, frame)}</div></div>
${section('History', history(data, frame))}`
  return { title: `One ${one}`, section: 'Write-backs', content }
}

function why({ error, step }: NamedEntry): Html {
  const text = error ?? step
  return text === null ? nothing : html` ${foreignText(text)}`
}

function uncertainHelp({ status, operation, sentAt }: NamedEntry, frame: ProjectFrame): Html {
  if (status !== 'uncertain') return nothing
  const where =
    operation === 'message'
      ? 'In the conversation, messages with the same words are marked. Look for it in the app too'
      : 'Look in the app whether it is there'
  return html`<p>${where}, then say what you found: what waits behind it goes on. It was sent ${sentAt === null ? 'at a time that is not known' : html`at ${timeOf(sentAt, frame)}`}. One that did not arrive becomes “failed”; after that it can be sent again.</p>`
}

function factsOf({ report }: WritebackData, frame: ProjectFrame): (readonly [string, Html | string])[] {
  const { writeback, check, waitsFor, holds } = report
  const { conversationId, visitorId, visitorName, batchId } = writeback
  const link = (folder: string, id: string, text: string | null) =>
    html`<a href="${path`/console/p/${frame.project}` + path`/${folder}/${id}`}">${foreignText(text ?? id)}</a>`
  const target =
    conversationId !== null
      ? link('conversations', conversationId, visitorName)
      : visitorId !== null
        ? link('visitors', visitorId, visitorName)
        : foreignText(null)
  const rows: (readonly [string, Html | string | null])[] = [
    ['About', target],
    ['Batch', batchId === null ? null : link('batches', batchId, null)],
    ['Queued', html`${ago(writeback.createdAt, frame)}${by(writeback.createdBy)}`],
    ['Approved', writeback.approvedBy === null ? null : html`by ${foreignText(writeback.approvedBy)}`],
    ['Last decision', writeback.decidedBy === null ? null : html`by ${foreignText(writeback.decidedBy)}`],
    [
      'Sent',
      writeback.attempts === 0
        ? null
        : html`${pluralize(writeback.attempts, 'time')}, last at ${timeOf(writeback.sentAt, frame)}`,
    ],
    ['Settled', writeback.finishedAt === null ? null : timeOf(writeback.finishedAt, frame)],
    [
      'Checked',
      check === null
        ? null
        : html`${timeOf(check.checkedAt, frame)}: ${foreignText(describeVerdict(check))}${check.isVoid ? ' (before its last change)' : ''}`,
    ],
    [
      'Waits for',
      waitsFor === null
        ? null
        : html`${link('writebacks', waitsFor.id, null)}, which is ${statusWords[waitsFor.status].word}`,
    ],
    ['Holds', holds === 0 ? null : `${pluralize(holds, 'write-back')} behind it`],
    ['Expects', writeback.expect === null ? null : foreignText(writeback.expect)],
    ['Expires', writeback.expiresAt === null ? null : timeOf(writeback.expiresAt, frame)],
    ['Ref', writeback.ref === null ? null : foreignText(writeback.ref)],
    ['Request', writeback.requestId === null ? null : foreignText(writeback.requestId)],
    ['Message', writeback.messageId === null ? null : foreignText(writeback.messageId)],
    ['Id', foreignText(writeback.id)],
  ]
  return rows.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]))
}

function by(person: string | null): Html {
  return person === null ? nothing : html` by ${foreignText(person)}`
}

function history({ report: { events } }: WritebackData, frame: ProjectFrame): Html {
  return table({
    caption: 'What happened to it, the oldest first',
    columns: [{ title: 'When' }, { title: 'Status' }, { title: 'Who' }, { title: 'Why' }, { title: 'Request' }],
    rows: events.map(({ at, from, to, detail, person, requestId }) => [
      timeOf(at, frame),
      from === null || from === to ? statusWords[to].word : `${statusWords[from].word} → ${statusWords[to].word}`,
      foreignText(person),
      foreignText(detail),
      foreignText(requestId),
    ]),
    empty: 'Nothing has happened yet.',
  })
}

/** The thread in which it stands or would stand. Of an uncertain reply, what may be it is marked. */
function around({ report: { writeback }, conversation }: WritebackData, frame: ProjectFrame): Html {
  if (conversation === null) return nothing
  const content = writeback.payload?.content
  const isReply = writeback.operation === 'message' && writeback.status === 'uncertain' && typeof content === 'string'
  const isMarked = (text: string | null, at: string | null) =>
    isReply && matchesReply({ text, at }, { content, sentAt: writeback.sentAt })
  return section('The conversation', thread(conversation, frame, isMarked))
}

/** Clocks of two machines may differ by this much. */
const clockToleranceMs = 120_000

export function matchesReply(
  message: { readonly text: string | null; readonly at: string | null },
  reply: { readonly content: string; readonly sentAt: string | null },
): boolean {
  if (message.text === null || normalize(message.text) !== normalize(reply.content)) return false
  if (message.at === null || reply.sentAt === null) return true
  return Date.parse(message.at) >= Date.parse(reply.sentAt) - clockToleranceMs
}

/** The service may trim white space, and compose letters and their marks. */
function normalize(text: string): string {
  return text.normalize('NFC').replace(/\s+/g, ' ').trim()
}
