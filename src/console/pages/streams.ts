/** All streams with their gaps, and one stream. */

import { table } from '../../document/table.ts'
import { path } from '../../values/address.ts'
import { formatCount, pluralize } from '../../values/format.ts'
import { type Html, html, nothing } from '../../values/html.ts'
import { facts, icon, live, type SentenceKind, section } from '../blocks.ts'
import { type StreamData, type StreamRow, type StreamState, streamStateOf } from '../core/data.ts'
import type { Frame, Page, ProjectFrame } from '../page.ts'
import { ago, agoText, foreignText, timeOf } from '../text.ts'

export function streamTable(rows: readonly StreamRow[], frame: ProjectFrame): Html {
  return table({
    caption: 'Streams',
    columns: [
      { title: 'Stream' },
      { title: 'State' },
      { title: 'Last read', isNumber: true },
      { title: 'Schedule' },
      { title: 'Rows', isNumber: true },
      { title: 'Newest row' },
      { title: 'Still to read', isNumber: true },
    ],
    rows: rows.map((row) => [
      html`<a href="${path`/console/p/${frame.project}/streams/${row.stream}`}">${streamTitle(row.stream)}</a>`,
      stateLabel(row, frame),
      live(`read-${row.stream}`, agoText(row.syncedAt, frame.now)),
      row.schedule ?? '–',
      row.rows === null ? '…' : formatCount(row.rows),
      timeOf(row.newest, frame),
      formatCount(row.due),
    ]),
    empty: 'No stream has been read yet.',
  })
}

/** What changes on the table of streams while it is open. */
export function streamLiveTexts(rows: readonly StreamRow[], now: number): Record<string, string> {
  return Object.fromEntries(rows.map(({ stream, syncedAt }) => [`read-${stream}`, agoText(syncedAt, now)]))
}

type StreamsData = { readonly rows: readonly StreamRow[] } & Pick<StreamData, 'gaps' | 'failing'>

export function streamsPage({ rows, gaps, failing }: StreamsData, frame: ProjectFrame): Page {
  const content = html`${streamTable(rows, frame)}
${section('Known to be missing', gapTable(gaps, frame))}
${section('Cannot be read', failingTable(failing))}`
  return { title: 'Streams', section: 'Streams', content, isLive: true }
}

export function streamPage({ row, gaps, failing }: StreamData, frame: ProjectFrame): Page {
  const content = html`${facts([
    ['State', stateLabel(row, frame)],
    ['Last read to its end', ago(row.syncedAt, frame)],
    ['Schedule', row.schedule ?? 'not known here'],
    ['Rows', row.rows === null ? '…' : formatCount(row.rows)],
    ['Newest row', timeOf(row.newest, frame)],
    ['Still to read', pluralize(row.due, 'list')],
  ])}
${row.skipped === null ? nothing : html`<p class="problem">The key lacks the scope ${foreignText(row.skipped)}: add it to the key in the app, under Settings > API keys.</p>`}
${row.failed === null ? nothing : html`<p class="problem">The last sync failed: ${foreignText(row.failed)}</p>`}
${section('Gaps', gapTable(gaps, frame))}
${failing.length === 0 ? nothing : section('Cannot be read', failingTable(failing))}`
  return { title: streamTitle(row.stream), section: 'Streams', content }
}

function gapTable(gaps: StreamData['gaps'], frame: ProjectFrame): Html {
  return table({
    caption: 'Gaps',
    columns: [
      { title: 'Stream' },
      { title: 'From' },
      { title: 'To' },
      { title: 'Why' },
      { title: 'Found' },
      { title: 'Filled' },
    ],
    rows: gaps.map(({ stream, from, to, reason, foundAt, resolvedAt }) => [
      streamTitle(stream),
      timeOf(from, frame),
      timeOf(to, frame),
      foreignText(reason),
      ago(foundAt, frame),
      resolvedAt === null ? 'open' : ago(resolvedAt, frame),
    ]),
    empty: 'Nothing is known to be missing.',
  })
}

function failingTable(failing: StreamData['failing']): Html {
  return table({
    caption: 'Parents whose rows cannot be read',
    columns: [{ title: 'Why' }, { title: 'Parents', isNumber: true }, { title: 'For example' }],
    rows: failing.map(({ reason, count, example }) => [foreignText(reason), formatCount(count), foreignText(example)]),
    empty: 'Every list could be read.',
  })
}

/** The words and icons for the states of streams. */
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

function stateLabel(row: StreamRow, frame: Frame): Html {
  const { word, kind } = words[stateOf(row, frame)]
  return html`<span class="state ${kind}">${icon(kind, frame)} ${word}</span>`
}

/** `visitor activity` */
export function streamTitle(stream: string): string {
  return stream.replaceAll('_', ' ')
}
