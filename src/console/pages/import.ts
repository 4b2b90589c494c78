/** Importing a file of write-backs as a draft batch: the form, and what is wrong with the file. */

import { operations, operationTypes } from '../../outbox/core/operations.ts'
import { formatRows, mistakeText } from '../../outbox/core/request-mistake.ts'
import type { MistakeKind, RejectedImport } from '../../outbox/outbox.ts'
import { formatCount, pluralize } from '../../values/format.ts'
import { attribute, type Html, html, nothing } from '../../values/html.ts'
import { addressOf, linkTo, section, table } from '../blocks.ts'
import type { Page, ProjectFrame } from '../layout.ts'
import { foreignText, shortened } from '../text.ts'

export type ImportView = {
  readonly title: string
  readonly note: string
  readonly allowDuplicates: boolean
  readonly ignoreColumns: boolean
  /** Null: no file has been sent yet. */
  readonly rejected: RejectedImport | null
  /** Why the file could not be read; null = it could. */
  readonly problem: string | null
  /** Where the rows with mistakes can be had as CSV. */
  readonly mistakesAddress: string | null
}

export function importPage(given: Partial<ImportView>, frame: ProjectFrame): Page {
  const view: ImportView = {
    ...{ title: '', note: '', allowDuplicates: false, ignoreColumns: false },
    ...{ rejected: null, problem: null, mistakesAddress: null, ...given },
  }
  const { rejected, problem } = view
  const content = html`${problem === null ? nothing : html`<p class="problem">Nothing was queued: ${foreignText(problem)}</p>`}
${rejected === null ? nothing : rejection(rejected, view, frame)}
<p>CSV (what a spreadsheet saves) or JSON Lines, one write-back a row. Nothing of it is sent: all rows become drafts, or none if one has a mistake. An approver decides after that.</p>
${form(view, frame)}
${section('The columns', columnTable())}`
  return { title: 'Import a file', section: 'Write-backs', content }
}

/** The file comes last: what is written above it is then known when it is read. */
function form({ title, note, allowDuplicates, ignoreColumns }: ImportView, frame: ProjectFrame): Html {
  return html`<form method="post" action="${addressOf(frame, 'import')}" enctype="multipart/form-data" class="stacked">
<label>What people call this batch (may be empty)
<input name="title" maxlength="200" autocomplete="off" value="${title}"></label>
<label>What people should know about it (may be empty)
<input name="note" maxlength="1000" autocomplete="off" value="${note}"></label>
<label class="check"><input type="checkbox" name="allowDuplicates" value="yes" ${attribute('checked', allowDuplicates)}> Let replies through that repeat the same words to the same conversation</label>
<label class="check"><input type="checkbox" name="ignoreColumns" value="yes" ${attribute('checked', ignoreColumns)}> Ignore columns with other names</label>
<label>The file, of 20 MB at most
<input type="file" name="file" accept=".csv,.jsonl,.ndjson,.json,.txt,.tsv,text/csv" ${attribute('required', true)}></label>
<button type="submit" class="primary">Import as drafts</button></form>`
}

/** The first row of CSV names them, in any order. */
function columnTable(): Html {
  return html`<p>The first row names the columns, in any order; a row fills those of its operation. Ids are on the pages of conversations and visitors, and in an export.</p>
${table(
  'Columns by operation',
  ['operation', 'Does', 'Other columns'],
  operations.map((operation) => {
    const { target, fields, summary } = operationTypes[operation]
    return [operation, summary, [`${target}_id`, ...Object.keys(fields)].join(' ')]
  }),
)}`
}

function rejection(rejected: RejectedImport, { mistakesAddress }: ImportView, frame: ProjectFrame): Html {
  if (rejected.outcome === 'imported before')
    return html`<p class="problem">Nothing was queued: the same file was imported before, as ${linkTo(frame, 'batches', rejected.batch, foreignText(rejected.batch))}.</p>`
  const { rows, mistaken, kinds } = rejected
  const said =
    rows === 0
      ? 'the first row does not name the columns of an import'
      : `${formatCount(mistaken)} of ${pluralize(rows, 'row')} ${mistaken === 1 ? 'has a mistake' : 'have mistakes'}`
  const download =
    mistakesAddress === null
      ? nothing
      : html`<p><a class="button" href="${mistakesAddress}">Download the rows with their mistakes (CSV)</a></p>`
  return html`<p class="problem">Nothing was queued: ${said}.</p>
${section('What is wrong', html`${kindTable(kinds)}${download}`)}`
}

function kindTable(kinds: readonly MistakeKind[]): Html {
  return table(
    'Kinds of mistakes, the most frequent first',
    ['What', '#Rows', 'Which', 'Found'],
    kinds.map((kind) => [
      foreignText(mistakeText(kind)),
      kind.count,
      formatRows(kind.rows, kind.count),
      foundText(kind),
    ]),
  )
}

function foundText({ found, foundOthers }: MistakeKind): Html {
  if (found.length === 0) return foreignText(null)
  const values = found.map(
    ({ value, count }) => html`${shortened(value, 60)}${count === 1 ? nothing : html` (${formatCount(count)})`} `,
  )
  return html`${values}${foundOthers === 0 ? nothing : html`and ${pluralize(foundOthers, 'other')}`}`
}
