/** What write-backs and batches are called on pages: one word each, everywhere the same. */

import type { BatchState } from '../outbox/core/batches.ts'
import type { EventLogEntry } from '../outbox/core/outbox-entry.ts'
import { presentStatuses, type StatusCounts, type WritebackStatus } from '../outbox/core/state.ts'
import { formatCount } from '../values/format.ts'
import { type Html, html } from '../values/html.ts'
import { type Assets, icon, type SentenceKind } from './blocks.ts'

export type Word = { readonly icon: SentenceKind; readonly word: string; readonly sentence: string }

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

export const batchWords: Readonly<Record<BatchState, Omit<Word, 'sentence'>>> = {
  draft: { icon: 'act', word: 'waits for approval' },
  stopped: { icon: 'act', word: 'stopped' },
  sending: { icon: 'clock', word: 'being sent' },
  uncertain: { icon: 'act', word: 'needs a decision' },
  done: { icon: 'fine', word: 'done' },
}

/** An icon beside a word. */
export function stateOf({ icon: name, word }: Omit<Word, 'sentence'>, frame: Assets): Html {
  return html`<span class="state ${name}">${icon(name, frame)} ${word}</span>`
}

export function statusOf(status: WritebackStatus, frame: Assets): Html {
  return stateOf(statusWords[status], frame)
}

export function batchStateOf(state: BatchState, frame: Assets): Html {
  return stateOf(batchWords[state], frame)
}

/** `1,204 queued, 3 failed` */
export function countsText(counts: StatusCounts): string {
  const present = presentStatuses(counts)
  return present.map((status) => `${formatCount(counts[status] ?? 0)} ${statusWords[status].word}`).join(', ')
}

/** `draft → queued`; only the status if it stayed the same. */
export function stepText({ from, to }: Pick<EventLogEntry, 'from' | 'to'>): string {
  const after = statusWords[to].word
  return from === null || from === to ? after : `${statusWords[from].word} → ${after}`
}
