/**
 * Writes a review to files while it runs: CSV, lines to print after the counts, and one HTML page
 * to look at and to pass on, without scripts, and without requests to anywhere. Texts of others are
 * escaped, isolated in direction, and show their invisible characters.
 */

import { tmpdir } from 'node:os'
import { documentFoot, documentHead } from '../../document/document-frame.ts'
import { type Cell, type Column, table, tableHeader, tableRow } from '../../document/table.ts'
import type { ExportColumn, ExportValue, OutputOptions } from '../../export/export.ts'
import { createOutputFile, createUnnamedFile, readFromStart } from '../../export/output-file.ts'
import { createCsvWriter } from '../../export/writers/csv-writer.ts'
import { reviewActions } from '../../outbox/core/operations.ts'
import {
  describeEffect,
  describeGroup,
  describeMirrorAge,
  describeOrder,
  describeSide,
  outcomeLabels,
} from '../../outbox/core/review/labels.ts'
import {
  type ReviewGroup,
  type ReviewSummary,
  reviewOutcomes,
  type WritebackReview,
} from '../../outbox/core/review/terms.ts'
import { capitalize, formatCount, pluralize } from '../../values/format.ts'
import { type Html, html, nothing } from '../../values/html.ts'
import { showInvisible } from '../../values/invisible.ts'

/** A place for a review, which shows its counts first. */
export type ReviewOutput = {
  readonly write: (reviews: readonly WritebackReview[]) => Promise<void>
  /** Call it after all rows. */
  readonly finish: (summary: ReviewSummary, text: ReviewPageText) => Promise<void>
  /** Removes what is not finished. Call it when done, also after an error. */
  readonly close: () => Promise<void>
}

/** Throws UserError if the file exists or cannot be created. */
export async function openCsvOutput(path: string, options: OutputOptions): Promise<ReviewOutput> {
  const file = await createOutputFile(path, options)
  const writer = createCsvWriter(reviewColumns, file.output, { forSpreadsheets: true })
  return {
    write: (reviews) =>
      writer.write(reviews.map((review) => reviewColumns.map(({ cell }) => cell(review)))),
    finish: async () => {
      await writer.end()
      await file.publish()
    },
    close: file.discard,
  }
}

/** Throws UserError if the file exists or cannot be created. */
export async function openPageOutput(path: string, options: OutputOptions): Promise<ReviewOutput> {
  const { output, publish, discard } = await createOutputFile(path, options)
  const rows = await createUnnamedFile(tmpdir())
  return {
    write: (reviews) => rows.appendFile(reviews.map(reviewPageRow).join('')),
    finish: async (summary, text) => {
      await output.write(Buffer.from(reviewPageHead(text, summary)))
      for await (const chunk of readFromStart(rows)) await output.write(chunk)
      await output.write(Buffer.from(reviewPageFoot))
      await publish()
    },
    close: () => rows.close().finally(discard),
  }
}

/** `toLine`: without a line end. `print`: resolves when more may be printed. */
export async function openLinesOutput(
  toLine: (review: WritebackReview) => string,
  print: (bytes: Uint8Array) => Promise<void>,
): Promise<ReviewOutput> {
  const lines = await createUnnamedFile(tmpdir())
  return {
    write: (reviews) => lines.appendFile(reviews.map((review) => `${toLine(review)}\n`).join('')),
    finish: async () => {
      for await (const chunk of readFromStart(lines)) await print(chunk)
    },
    close: () => lines.close(),
  }
}

const reviewColumn = (
  name: string,
  cell: (review: WritebackReview) => ExportValue,
  type: ExportColumn['type'] = 'text',
) => ({ name, type, cell })

/** A review as CSV for spreadsheets: one line for each row. */
const reviewColumns = [
  reviewColumn('row', ({ position }) => position, 'integer'),
  reviewColumn('id', ({ id }) => id),
  reviewColumn('operation', ({ operation }) => operation),
  reviewColumn('target', ({ target }) => target),
  reviewColumn('visitor_name', ({ visitorName }) => visitorName),
  reviewColumn('outcome', ({ outcome }) => outcome),
  reviewColumn('reason', ({ reason }) => reason),
  reviewColumn('why', ({ why }) => why),
  reviewColumn('old', ({ changes }) => describeSide(changes, 'old')),
  reviewColumn('new', ({ changes }) => describeSide(changes, 'new')),
  reviewColumn('visitor_last_words', ({ lastWords }) => lastWords?.text ?? null),
  reviewColumn('visitor_last_words_at', ({ lastWords }) => lastWords?.at ?? null, 'time'),
  reviewColumn('first_words', ({ firstWords }) => firstWords),
  reviewColumn('after_row', ({ after }) => after, 'integer'),
  reviewColumn('sender_name', ({ senderName }) => senderName),
  reviewColumn('look_at', ({ marks }) => (marks.length === 0 ? null : marks.join('; '))),
  reviewColumn('expect', ({ expect }) => expect),
  reviewColumn('expires_at', ({ expiresAt }) => expiresAt, 'time'),
  reviewColumn('mirror_as_of', ({ mirrorAsOf }) => mirrorAsOf, 'time'),
]

export type ReviewPageText = {
  /** What is reviewed: the name of a file or a batch. */
  readonly title: string
  /** When, by whom it is queued, and the like; a line each. */
  readonly notes: readonly string[]
}

/** Up to the table of all rows, which follows as `reviewPageRow`. */
function reviewPageHead({ title, notes }: ReviewPageText, summary: ReviewSummary): string {
  const noted = notes.map((note) => html`<p class="notes">${foreign(note)}</p>\n`)
  return html`${documentHead(`Review of ${showInvisible(title)}`)}<h1>Review of
    ${foreign(title)}</h1>
${noted}${countsTable(summary)}${mirrorNote(summary)}${markedNote(summary)}${summary.groups.map(groupSection)}<section>
<h2>All ${pluralize(summary.rows, 'row')}</h2>
<div class="scroll"><table>
<thead>${tableHeader(rowColumns, 'lines')}</thead>
<tbody>
`.html
}

function reviewPageRow(review: WritebackReview): string {
  const { action, outcome } = review
  return tableRow(
    rowColumns,
    cellsOf(review, [reviewActions[action][0], outcomeLabels[outcome]]),
    'lines',
  ).html
}

const reviewPageFoot = `</tbody>
</table></div>
</section>
${documentFoot}`

const columnsWith = (middle: readonly string[]): readonly Column[] => [
  { title: 'row', isNumber: true },
  ...['visitor', ...middle, 'last words of the visitor', 'sender', 'effect'].map((title) => ({
    title,
  })),
]
const groupColumns = columnsWith([])
const rowColumns = columnsWith(['operation', 'outcome'])

function countsTable({ counts, groups }: ReviewSummary): Html {
  const rows = reviewOutcomes.map((outcome) => {
    const own = groups.filter((group) => group.outcome === outcome)
    return html`<tr><th scope="row">${outcomeLabels[outcome]}</th><td
      class="number">${formatCount(counts[outcome])}</td><td>${own.map((group) => html`${describeGroup(group, formatCount)}<br>`)}</td></tr>\n`
  })
  return html`<table>
<caption>What the rows would do, as the mirror shows it</caption>
<tbody>
${rows}</tbody>
</table>
`
}

function mirrorNote({ mirrorAsOf }: ReviewSummary): Html {
  const text = describeMirrorAge(mirrorAsOf, (at) => `at ${at}`)
  return html`<p class="notes">${capitalize(text)}.</p>
`
}

function markedNote({ marked }: ReviewSummary): Html {
  if (marked.rows === 0) return nothing
  const items = marked.samples.flatMap((review) =>
    review.marks.map((mark) => html`<li>row ${String(review.position)}: ${foreign(mark)}</li>\n`),
  )
  const beyond = marked.rows - marked.samples.length
  return html`<section>
<h2>Look at ${pluralize(marked.rows, 'row')} first</h2>
<ul>
${items}</ul>
${moreBelow(beyond)}</section>
`
}

function groupSection(group: ReviewGroup): Html {
  const { outcome, samples, count } = group
  const beyond = count - samples.length
  return html`<section>
<h2>${outcomeLabels[outcome]}: ${describeGroup(group, formatCount)}</h2>
<div class="scroll">${table({ caption: null, columns: groupColumns, rows: samples.map((review) => cellsOf(review, [])) }, 'lines')}</div>
${moreBelow(beyond)}</section>
`
}

function moreBelow(rows: number): Html {
  if (rows <= 0) return nothing
  return html`<p class="notes">… and ${pluralize(rows, 'row')} more, below.</p>\n`
}

/** `middle`: cells between the name and the words. */
function cellsOf(review: WritebackReview, middle: readonly string[]): Cell[] {
  const { position, visitorName, target, lastWords, senderName, marks } = review
  const marked = marks.map((mark) => html`<br>! ${foreign(mark)}`)
  return [
    position,
    foreign(visitorName ?? target),
    ...middle,
    foreign(lastWords?.text ?? ''),
    foreign(senderName ?? ''),
    html`${foreign(describeEffect(review))}${describeOrder(review)}${marked}`,
  ]
}

/** Its direction does not affect what stands beside it. */
function foreign(plain: string): Html {
  return html`<bdi>${showInvisible(plain)}</bdi>`
}
