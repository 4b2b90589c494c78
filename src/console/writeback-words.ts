/** What write-backs, batches and decisions are called on pages: one word each, everywhere the same. */
import type { DecisionName } from '../core/console/decisions.ts'
import { type Html, html } from '../core/html/html.ts'
import type { BatchState } from '../core/outbox/batches.ts'
import type { WritebackStatus } from '../core/outbox/state.ts'
import type { Operation } from '../core/outbox/writeback-request.ts'
import type { SentenceKind } from './blocks.ts'
import { icon } from './icon.ts'

type Word = { readonly icon: SentenceKind; readonly word: string; readonly sentence: string }

export const statusWords: Readonly<Record<WritebackStatus, Word>> = {
  draft: { icon: 'act', word: 'draft', sentence: 'Waits for approval.' },
  queued: { icon: 'clock', word: 'queued', sentence: 'Leaves as soon as the request budget allows.' },
  sending: {
    icon: 'clock',
    word: 'sending',
    sentence: 'It has been sent or is about to be; its outcome is not known yet.',
  },
  succeeded: { icon: 'fine', word: 'succeeded', sentence: 'It arrived.' },
  failed: { icon: 'wrong', word: 'failed', sentence: 'The service refused it, or it did not arrive.' },
  conflict: {
    icon: 'wrong',
    word: 'conflict',
    sentence: 'The record has changed since, so it is not sent; the reason says whether it may have been done before.',
  },
  uncertain: { icon: 'act', word: 'uncertain', sentence: 'It may or may not have arrived. A person has to decide.' },
  cancelled: { icon: 'note', word: 'cancelled', sentence: 'A person cancelled it; it was not sent.' },
  expired: { icon: 'note', word: 'expired', sentence: 'Its time was over before it could be sent.' },
}

const batchWords: Readonly<Record<BatchState, Omit<Word, 'sentence'>>> = {
  draft: { icon: 'act', word: 'waits for approval' },
  stopped: { icon: 'act', word: 'stopped' },
  sending: { icon: 'clock', word: 'being sent' },
  uncertain: { icon: 'act', word: 'needs a decision' },
  done: { icon: 'fine', word: 'done' },
}

export const operationWords: Readonly<Record<Operation, readonly [one: string, many: string]>> = {
  message: ['reply', 'replies'],
  handled: ['flag', 'flags'],
  visitor: ['correction of a visitor', 'corrections of visitors'],
  note: ['note', 'notes'],
}

type Assets = { readonly assets: string }

export function statusOf(status: WritebackStatus, frame: Assets): Html {
  const { icon: name, word } = statusWords[status]
  return html`<span class="state ${name}">${icon(name, frame)} ${word}</span>`
}

export function batchStateOf(state: BatchState, frame: Assets): Html {
  const { icon: name, word } = batchWords[state]
  return html`<span class="state ${name}">${icon(name, frame)} ${word}</span>`
}

export function batchWord(state: BatchState): string {
  return batchWords[state].word
}

/** On a button. Those that ask for confirmation end with dots. */
export const decisionLabels: Readonly<Record<DecisionName, string>> = {
  approve: 'Approve…',
  undo: 'Undo the approval',
  stop: 'Stop',
  resume: 'Go on…',
  cancel: 'Cancel…',
  retry: 'Send again…',
  arrived: 'It arrived',
  lost: 'It did not arrive',
  revert: 'Take back as drafts',
}

/** In the audit log, and in sentences about what happened. */
export const decisionsMade: Readonly<Record<DecisionName, string>> = {
  approve: 'approved',
  undo: 'put back to draft',
  stop: 'stopped',
  resume: 'queued again',
  cancel: 'cancelled',
  retry: 'queued again',
  arrived: 'recorded as arrived',
  lost: 'recorded as not arrived',
  revert: 'queued as drafts',
}
