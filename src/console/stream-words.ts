/** The words and icons for the states of streams. */
import type { StreamRow } from '../core/console/data.ts'
import { type StreamState, streamStateOf } from '../core/console/stream-state.ts'
import { type Html, html } from '../core/html/html.ts'
import type { SentenceKind } from './blocks.ts'
import { icon } from './icon.ts'
import type { Frame } from './page.ts'

const words: Readonly<Record<StreamState, { readonly word: string; readonly kind: SentenceKind }>> = {
  fresh: { word: 'fresh', kind: 'fine' },
  running: { word: 'being read', kind: 'clock' },
  late: { word: 'late', kind: 'wrong' },
  failing: { word: 'failing', kind: 'wrong' },
  skipped: { word: 'no access', kind: 'act' },
  unread: { word: 'not read yet', kind: 'note' },
  read: { word: 'read', kind: 'note' },
}

export function stateOf(row: StreamRow, { now }: Pick<Frame, 'now'>): StreamState {
  return streamStateOf(row, row, now)
}

export function stateWord(state: StreamState): string {
  return words[state].word
}

export function stateLabel(row: StreamRow, frame: Frame): Html {
  const { word, kind } = words[stateOf(row, frame)]
  return html`<span class="state ${kind}">${icon(kind, frame)} ${word}</span>`
}

/** `visitor activity` */
export function streamTitle(stream: string): string {
  return stream.replaceAll('_', ' ')
}
