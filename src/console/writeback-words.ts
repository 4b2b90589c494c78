/** What write-backs and batches are called on pages: one word each, everywhere the same. */

import type { BatchState } from '../outbox/core/batches.ts'
import type { WritebackStatus } from '../outbox/core/state.ts'
import { type Html, html } from '../values/html.ts'
import { icon, type SentenceKind } from './blocks.ts'

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
