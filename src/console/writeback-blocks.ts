/**
 * Blocks about write-backs and batches: one word for each status, everywhere the same, and the
 * buttons of decisions.
 */

import { type countOperations, shownState } from '../outbox/core/batches.ts'
import { decisions } from '../outbox/core/decisions.ts'
import { operations, operationTypes } from '../outbox/core/operations.ts'
import { outcomeLabels } from '../outbox/core/review/labels.ts'
import type {
  BatchReport,
  BatchState,
  DecisionName,
  EventLogEntry,
  Operation,
  ReviewOutcome,
  WritebackStatus,
} from '../outbox/outbox.ts'
import { escapeName, withQuery } from '../values/address.ts'
import { formatCount } from '../values/format.ts'
import { attribute, type Html, html, nothing } from '../values/html.ts'
import type { ProjectName } from '../values/project.ts'
import { type Assets, addressOf, icon, type SentenceKind } from './blocks.ts'

export type Word = { readonly icon: SentenceKind; readonly word: string }

export const statusWords: Readonly<Record<WritebackStatus, Word & { readonly sentence: string }>> =
  {
    draft: { icon: 'act', word: 'draft', sentence: 'Waits for an approver.' },
    queued: {
      icon: 'clock',
      word: 'queued',
      sentence: 'Leaves as soon as the request budget allows.',
    },
    sending: {
      icon: 'clock',
      word: 'sending',
      sentence: 'It has been sent or is about to be; its outcome is not known yet.',
    },
    succeeded: { icon: 'fine', word: 'succeeded', sentence: 'It arrived.' },
    failed: {
      icon: 'wrong',
      word: 'failed',
      sentence: 'The service refused it, or it did not arrive.',
    },
    conflict: {
      icon: 'wrong',
      word: 'conflict',
      sentence:
        'The record has changed since, so it is not sent; the reason says whether it may ' +
        'have been done before.',
    },
    uncertain: {
      icon: 'act',
      word: 'uncertain',
      sentence: 'It may or may not have arrived. A person has to decide.',
    },
    cancelled: {
      icon: 'note',
      word: 'cancelled',
      sentence: 'A person cancelled it; it was not sent.',
    },
    expired: {
      icon: 'note',
      word: 'expired',
      sentence: 'Its time was over before it could be sent.',
    },
  }

const batchWords: Readonly<Record<BatchState, Word>> = {
  draft: { icon: 'act', word: 'waits for approval' },
  stopped: { icon: 'act', word: 'stopped' },
  sending: { icon: 'clock', word: 'being sent' },
  uncertain: { icon: 'act', word: 'needs a decision' },
  done: { icon: 'fine', word: 'done' },
}

/** An icon beside a word. */
export function stateOf({ icon: name, word }: Word, frame: Assets): Html {
  return html`<span class="state ${name}">${icon(name, frame)} ${word}</span>`
}

export function statusOf(status: WritebackStatus, frame: Assets): Html {
  return stateOf(statusWords[status], frame)
}

export function batchWordOf(batch: Pick<BatchReport['batch'], 'state' | 'counts'>): Word {
  const state = shownState(batch)
  return state === 'queued' ? statusWords.queued : batchWords[state]
}

export function batchStateOf(
  batch: Pick<BatchReport['batch'], 'state' | 'counts'>,
  frame: Assets,
): Html {
  return stateOf(batchWordOf(batch), frame)
}

/** `253 replies` */
export function countedText(
  operation: Operation,
  counts: ReturnType<typeof countOperations>,
): string {
  const count = counts[operation] ?? 0
  return `${formatCount(count)} ${operationTypes[operation].words[count === 1 ? 0 : 1]}`
}

/** `253 replies and 20 flags` */
export function operationsText(counts: ReturnType<typeof countOperations>): string {
  const present = operations.filter((operation) => (counts[operation] ?? 0) > 0)
  const texts = present.map((operation) => countedText(operation, counts))
  return new Intl.ListFormat('en-GB').format(texts)
}

/** `will be sent: 253 replies, 20 reopen a handled conversation` */
export function groupList(
  groups: readonly { readonly outcome: ReviewOutcome; readonly text: string }[],
): Html {
  return html`<ul class="groups">${groups.map(({ outcome, text }) => html`<li>${outcomeLabels[outcome]}: ${text}</li>`)}</ul>`
}

/** `draft → queued`; only the status if it stayed the same. */
export function stepText({ from, to }: Pick<EventLogEntry, 'from' | 'to'>): string {
  const after = statusWords[to].word
  return from === null || from === to ? after : `${statusWords[from].word} → ${after}`
}

/**
 * What the decision is about: a batch, one write-back, or (empty) all sending. `digest`: names it
 * as it was shown.
 */
type DecisionForm = {
  readonly project: ProjectName
  readonly about: { readonly batch: string } | { readonly id: string } | Record<string, never>
  readonly digest?: string
}

/** In the order in which they are given. */
export function decisionButtons(offered: readonly DecisionName[], form: DecisionForm): Html {
  if (offered.length === 0) return nothing
  return html`<div class="actions">${offered.map((decision, index) => decisionButton(decision, form, index === 0))}</div>`
}

/** How a button looks. */
export function rankOf(decision: DecisionName): 'danger' | null {
  return decisions[decision].isStopping === true ? 'danger' : null
}

function decisionButton(
  decision: DecisionName,
  { project, about, digest }: DecisionForm,
  isFirst: boolean,
): Html {
  const { label, taken, isUsual = false } = decisions[decision]
  const rank = isFirst && isUsual ? 'primary' : rankOf(decision)
  if (taken === 'confirmed') {
    const to = withQuery(addressOf({ project }, 'confirm'), { decision, ...escapeBatch(about) })
    return html`<a class="button${rank === null ? '' : ` ${rank}`}" href="${to}">${label}</a>`
  }
  return html`<form method="post"
    action="${addressOf({ project }, 'decide')}">${hiddenFields({ decision, ...about, digest: digest ?? null })}
<button type="submit" ${attribute('class', rank)}>${label}</button></form>`
}

/** What `targetOf` reads back. */
function escapeBatch<F extends object>(fields: F): F {
  return 'batch' in fields && typeof fields.batch === 'string'
    ? { ...fields, batch: escapeName(fields.batch) }
    : fields
}

/** Null: the form has no such field. */
export function hiddenFields(
  fields: Readonly<Record<string, string | readonly string[] | null>>,
): Html {
  const inputs = Object.entries(escapeBatch(fields)).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => html`<input type="hidden" name="${name}" value="${one}">`),
  )
  return html`${inputs}`
}
