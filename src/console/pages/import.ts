/** Importing a file of write-backs as a draft batch: the form, and what is wrong with the file. */

import type { MistakeKind, QueuedImport, RejectedImport } from '../../imports/imports.ts'
import { formatRows } from '../../imports/mistake-kinds.ts'
import { columnMeanings, isMeaning, sheetColumns } from '../../imports/reply-sheet.ts'
import { operations, operationTypes } from '../../outbox/core/operations.ts'
import { mistakeText } from '../../outbox/core/writeback-request.ts'
import type { ColumnMap } from '../../outbox/outbox.ts'
import { withQuery } from '../../values/address.ts'
import { formatCount, pluralize } from '../../values/format.ts'
import { attribute, type Html, html, nothing } from '../../values/html.ts'
import { addressOf, linkTo, section, table } from '../blocks.ts'
import type { ConsolePage, ProjectFrame } from '../frame.ts'
import type { ConsoleProject } from '../project.ts'
import { downloadLinks } from '../table-file.ts'
import { foreignText, shortened } from '../text.ts'
import { hiddenFields } from '../writeback-blocks.ts'
import { answerPage } from './decided.ts'

/** What a person has written into the form. */
export type ImportForm = Readonly<Record<'title' | 'note', string>> & {
  /** The sender of replies that name none. */
  readonly senderName: string
  readonly allowDuplicates: boolean
  readonly ignoreColumns: boolean
  /** What was said that columns mean, by the key of the header. */
  readonly columns: ColumnMap
}

const emptyForm: ImportForm = {
  title: '',
  note: '',
  senderName: '',
  allowDuplicates: false,
  ignoreColumns: false,
  columns: {},
}

export type ImportProblem = {
  readonly rejected?: RejectedImport
  /** Why the file could not be read. */
  readonly problem?: string
  /** Where the rows with mistakes can be had. */
  readonly mistakesAddress?: string | null
  readonly unnamed?: UnnamedColumns | null
}

/** The columns of a file that the person has to name, and its key. */
type UnnamedColumns = {
  readonly key: string
  readonly columns: readonly (Readonly<Record<'title' | 'key' | 'example', string>> & {
    readonly meaning: string | null
  })[]
}

export function importPage(
  { replies }: Pick<ConsoleProject, 'replies'>,
  frame: ProjectFrame,
  form: ImportForm = emptyForm,
  { rejected, problem, mistakesAddress = null, unnamed = null }: ImportProblem = {},
): ConsolePage {
  const whole = html`<p>A workbook (.xlsx), CSV or JSON Lines, one write-back a row. Nothing of it is sent: all rows become drafts, or none if one has a mistake. An approver decides after
    that.</p>
${fileForm(form, unnamed === null, frame)}`
  const content = html`${
    problem === undefined
      ? nothing
      : html`<p class="problem">Nothing was queued:
    ${foreignText(problem)}</p>`
  }
${rejected === undefined ? nothing : rejection(rejected, mistakesAddress, frame)}
${unnamed === null ? whole : html`${section('What its columns are', columnForm(unnamed, form, frame))}${section('Another file', whole)}`}
${section('The columns', columnTable(Object.keys(replies), frame))}`
  return { title: 'Import a file', section: 'Write-backs', content }
}

/** The file comes last: what is written above it is then known when it is read. */
function fileForm(
  { title, note, allowDuplicates, ignoreColumns, senderName, columns }: ImportForm,
  isPrimary: boolean,
  frame: ProjectFrame,
): Html {
  return html`<form method="post" action="${addressOf(frame, 'import')}"
    enctype="multipart/form-data" class="stacked">
${hiddenFields({ columns: JSON.stringify(columns) })}
<label>What people call this batch (may be empty)
<input name="title" maxlength="200" autocomplete="off" value="${title}"></label>
<label>What people should know about it (may be empty)
<input name="note" maxlength="1000" autocomplete="off" value="${note}"></label>
<label>Who signs replies that name no sender, as the customer sees it (may be empty)
<input name="senderName" maxlength="300" autocomplete="off" value="${senderName}"></label>
<label class="check"><input type="checkbox" name="allowDuplicates" value="yes"
  ${attribute('checked', allowDuplicates)}> Let replies through that repeat the same words to the
  same conversation</label>
<label class="check"><input type="checkbox" name="ignoreColumns" value="yes"
  ${attribute('checked', ignoreColumns)}> Ignore columns with other names</label>
<label>The file, of 20 MB at most
<input type="file" name="file" accept=".xlsx,.csv,.jsonl,.ndjson,.json,.txt,.tsv,text/csv"
  ${attribute('required', true)}></label>
<button type="submit" ${attribute('class', isPrimary ? 'primary' : null)}>Import as
  drafts</button></form>`
}

/** Without it the rows could mean anything, so each column that is not known must be said. */
function columnForm(
  { key, columns }: UnnamedColumns,
  { title, note, allowDuplicates, ignoreColumns, senderName }: ImportForm,
  frame: ProjectFrame,
): Html {
  const yes = (is: boolean) => (is ? 'yes' : '')
  const form = {
    title,
    note,
    senderName,
    allowDuplicates: yes(allowDuplicates),
    ignoreColumns: yes(ignoreColumns),
  }
  const option = (value: string, text: string, meaning: string | null) =>
    html`<option value="${value}" ${attribute('selected', value === meaning)}>${text}</option>`
  // The others are known by names that no sheet needs.
  const asked = columns.filter(({ meaning }) => meaning === null || isMeaning(meaning))
  const fields = asked.map(
    (
      { title: header, key: name, meaning, example },
      n,
    ) => html`${hiddenFields({ [`header${n}`]: name })}
<label><span><b>${shortened(header, 60)}</b>${
      example === ''
        ? nothing
        : html`<span class="faint">,
  such as ${shortened(example, 60)}</span>`
    }</span>
<select name="meaning${String(n)}"
  ${attribute('required', true)}>${option('', 'choose…', null)}${Object.entries(columnMeanings).map(([value, text]) => option(value, `${value}: ${text}`, meaning))}</select></label>`,
  )
  return html`<p>Say what each column is. Once the file is queued, the next one with these names is
    read alike.</p>
<form method="post" action="${addressOf(frame, 'import', 'columns', key)}"
  class="stacked">${hiddenFields(form)}
${fields}
<button type="submit" class="primary">Import as drafts</button></form>`
}

/** The first row names them, in any order. */
function columnTable(texts: readonly string[], frame: ProjectFrame): Html {
  const template = (form: Readonly<Record<string, string>>) =>
    withQuery(addressOf(frame, 'sheet'), { template: 'yes', ...form })
  return html`<p>A sheet of replies needs no operation.
    <a href="${addressOf(frame, 'waiting')}">Waiting</a> and each list of conversations can be
    downloaded as one; rows that stay empty are skipped. What was found by an address or a name has
    to be approved by a person who checks whose conversation it is.</p>
${table('Columns of a sheet of replies', ['Column', 'Does'], Object.entries(sheetColumns))}
${texts.length === 0 ? nothing : html`<p>Texts for the column <code>template</code>: ${texts.map((text, n) => html`${n === 0 ? '' : ', '}<b>${text}</b>`)}.</p>`}
<p>${downloadLinks(template, 'Download a template')}</p>
<p>For everything else a column names the operation, and a row fills those of its own. Ids are on
  the pages of conversations and visitors, and in an export.</p>
${table(
  'Columns by operation',
  ['operation', 'Does', 'Other columns'],
  operations.map((operation) => {
    const { target, fields, summary } = operationTypes[operation]
    return [operation, summary, [`${target}_id`, ...Object.keys(fields)].join(' ')]
  }),
)}`
}

function rejection(
  rejected: RejectedImport,
  mistakesAddress: string | null,
  frame: ProjectFrame,
): Html {
  if (rejected.outcome === 'imported before')
    return html`<p class="problem">Nothing was queued: the same file was imported before, as
      ${linkTo(frame, 'batches', rejected.batch, foreignText(rejected.batch))}.</p>`
  const { rows, mistaken, kinds } = rejected
  const said =
    rows === 0
      ? 'the first row does not name the columns of an import'
      : `${formatCount(mistaken)} of ${pluralize(rows, 'filled row')} ` +
        `${mistaken === 1 ? 'has a mistake' : 'have mistakes'}`
  const download =
    mistakesAddress === null
      ? nothing
      : html`<p><a class="button" href="${mistakesAddress}">Download the rows with their
        mistakes</a> Correct them in the file itself, and import all of it again.</p>`
  const isUnsigned = kinds.some(({ field, found }) => field === 'sender_name' && found.length === 0)
  return html`<p class="problem">Nothing was queued: ${said}.</p>
${
  isUnsigned
    ? html`<p>Who signs the replies of a sheet that name no sender can be written below,
  for all of them.</p>`
    : nothing
}
${section('What is wrong', html`${kindTable(kinds)}${download}`)}`
}

/**
 * Of a file without mistakes: what was not queued, as it was queued before, and what was concluded.
 */
export function importedPage(
  { batch, queued, alreadyQueued, differing, notices, emptyRows }: QueuedImport,
  frame: ProjectFrame,
): ConsolePage {
  const before =
    `${pluralize(alreadyQueued, 'write-back')} of the file ` +
    `${alreadyQueued === 1 ? 'was' : 'were'} queued before, by the same ref.`
  const to = batch === null ? addressOf(frame, 'writebacks') : addressOf(frame, 'batches', batch)
  const content = html`<p><b>${pluralize(queued, 'write-back')} queued as
    drafts.</b>${alreadyQueued === 0 ? nothing : ` ${before}`}</p>
${emptyNote(emptyRows)}${
  differing === 0
    ? nothing
    : html`<p class="problem">What differs from what
  was queued is not sent. To send it all the same, empty the column ref in these rows.</p>`
}
${notices.length === 0 ? nothing : section('What to look at', kindTable(notices, 'Rows to look at, the most frequent first'))}`
  const done = alreadyQueued === 0 ? 'Queued as drafts' : 'Queued in part'
  return answerPage(queued === 0 ? 'Nothing was queued' : done, content, to)
}

/** Of a sheet: what is still to be answered is no mistake, but a reply that was forgotten is. */
export function emptyNote(rows: number): Html {
  if (rows === 0) return nothing
  return html`<p role="status">${pluralize(rows, 'row')} of the file without a reply or a flag
    ${rows === 1 ? 'was' : 'were'} left out.</p>`
}

function kindTable(
  kinds: readonly MistakeKind[],
  caption = 'Kinds of mistakes, the most frequent first',
): Html {
  return table(
    caption,
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
    ({ value, count }) =>
      html`${shortened(value, 500)}${count === 1 ? nothing : html` (${formatCount(count)})`} `,
  )
  return html`${values}${foundOthers === 0 ? '' : `and ${pluralize(foundOthers, 'other')}`}`
}
