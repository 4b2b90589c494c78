/** Write-backs: the batches, newest first, or all rows with one status. */

import { table } from '../../document/table.ts'
import type { BatchSummary } from '../../outbox/core/batches.ts'
import type { NamedEntry } from '../../outbox/core/outbox-entry.ts'
import { describeRequest } from '../../outbox/core/review-labels.ts'
import { writebackStatuses } from '../../outbox/core/state.ts'
import { operationTypes } from '../../outbox/core/writeback-request.ts'
import { path, withQuery } from '../../values/address.ts'
import { formatCount } from '../../values/format.ts'
import { type Html, html, nothing } from '../../values/html.ts'
import { choices, older, section } from '../blocks.ts'
import type { WritebacksData } from '../core/writeback-data.ts'
import type { Page, ProjectFrame } from '../page.ts'
import { ago, foreignText, shortened } from '../text.ts'
import { batchStateOf, statusOf, statusWords } from '../writeback-words.ts'

type WritebacksView = { readonly data: WritebacksData; readonly mayImport: boolean }

export function writebacksPage({ data, mayImport }: WritebacksView, frame: ProjectFrame): Page {
  const { counts, status, batches, olderBatches, rows, next } = data
  const address = path`/console/p/${frame.project}/writebacks`
  const tabs = writebackStatuses
    .filter((name) => (counts[name] ?? 0) > 0 || name === status)
    .map((name) => ({
      label: `${statusWords[name].word} (${formatCount(counts[name] ?? 0)})`,
      to: withQuery(address, { status: name }),
      isChosen: name === status,
    }))
  const all = { label: 'Batches', to: address, isChosen: status === null }
  const importLink = mayImport
    ? html`<a class="button" href="${path`/console/p/${frame.project}/import`}">Import a file…</a>`
    : nothing
  const shown =
    status === null
      ? section(
          'Batches',
          html`${batchTable(batches, frame)}${older(olderBatches === null ? null : withQuery(address, { before: olderBatches }))}`,
          importLink,
        )
      : html`<p class="faint">${statusWords[status].sentence}</p>${entryTable(rows, frame)}${older(next === null ? null : withQuery(address, { status, after: next }), 'Next')}`
  return { title: 'Write-backs', section: 'Write-backs', content: html`${choices('Status', [all, ...tabs])}${shown}` }
}

function batchTable(batches: readonly BatchSummary[], frame: ProjectFrame): Html {
  return table({
    caption: 'Batches, the newest first',
    columns: [
      { title: 'Batch' },
      { title: 'State' },
      { title: 'Rows', isNumber: true },
      { title: 'Their statuses' },
      { title: 'Queued' },
    ],
    rows: batches.map((batch) => [
      html`<a href="${path`/console/p/${frame.project}/batches/${batch.id}`}">${foreignText(batch.title ?? batch.id)}</a>`,
      batchStateOf(batch.state, frame),
      batch.rows,
      countsText(batch.counts),
      html`${ago(batch.createdAt, frame)}${batch.createdBy === null ? nothing : html` by ${foreignText(batch.createdBy)}`}`,
    ]),
    empty: 'No batch has been queued yet.',
  })
}

export function countsText(counts: WritebacksData['counts']): string {
  const present = writebackStatuses.filter((status) => (counts[status] ?? 0) > 0)
  return present.map((status) => `${formatCount(counts[status] ?? 0)} ${statusWords[status].word}`).join(', ')
}

export function entryTable(rows: readonly NamedEntry[], frame: ProjectFrame): Html {
  return table({
    caption: 'Write-backs, in the order of the queue',
    columns: [{ title: 'What' }, { title: 'About' }, { title: 'Asks for' }, { title: 'Status' }, { title: 'Why' }],
    rows: rows.map((entry) => [
      html`<a href="${path`/console/p/${frame.project}/writebacks/${entry.id}`}">${operationTypes[entry.operation].words[0]}</a>`,
      foreignText(entry.visitorName ?? entry.conversationId ?? entry.visitorId),
      shortened(describeRequest({ ...entry, payload: entry.payload ?? {} }), 140),
      statusOf(entry.status, frame),
      shortened(entry.error ?? entry.step, 140),
    ]),
    empty: 'There are none.',
  })
}
