/**
 * A review as one HTML file to look at and to pass on: without scripts, and without requests to anywhere. Texts of others
 * are escaped, isolated in direction, and show their invisible characters.
 */
import { formatCount, pluralize } from '../../core/format.ts'
import { type Html, html, nothing } from '../../core/html/html.ts'
import { reviewOutcomes } from '../../core/outbox/review.ts'
import type { CheckedReview } from '../../core/outbox/review-check.ts'
import {
  actionNames,
  describeDifference,
  describeEffect,
  describeGroup,
  describeOrder,
  outcomeLabels,
} from '../../core/outbox/review-labels.ts'
import type { ReviewGroup, ReviewSummary } from '../../core/outbox/review-summary.ts'
import { showInvisible } from '../../core/outbox/review-words.ts'
import { documentFoot, documentHead } from '../../document/document-frame.ts'
import { type Cell, type Column, table, tableHeader, tableRow } from '../../document/table.ts'

export type ReviewPageText = {
  /** What is reviewed: the name of a file or a batch. */
  readonly title: string
  /** When, by whom it is queued, and the like; a line each. */
  readonly notes: readonly string[]
}

/** Up to the table of all rows, which follows as `reviewPageRow`. */
export function reviewPageHead({ title, notes }: ReviewPageText, summary: ReviewSummary): string {
  return html`${documentHead(`Review of ${showInvisible(title)}`)}<h1>Review of ${foreign(title)}</h1>
${notes.map((note) => html`<p class="notes">${foreign(note)}</p>\n`)}${countsTable(summary)}${checksSection(summary)}${summary.groups.map(groupSection)}<section>
<h2>All ${pluralize(summary.rows, 'row')}</h2>
<div class="scroll"><table>
<thead>${tableHeader(rowColumns, 'lines')}</thead>
<tbody>
`.html
}

export function reviewPageRow(review: CheckedReview): string {
  const { action, outcome } = review
  return tableRow(rowColumns, cellsOf(review, [actionNames[action], outcomeLabels[outcome]]), 'lines').html
}

export const reviewPageFoot = `</tbody>
</table></div>
</section>
${documentFoot}`

const columnsWith = (middle: readonly string[]): readonly Column[] => [
  { title: 'row', isNumber: true },
  ...['visitor', ...middle, 'last words of the visitor', 'effect', 'checked with the service'].map((title) => ({
    title,
  })),
]
const groupColumns = columnsWith([])
const rowColumns = columnsWith(['operation', 'outcome'])

function countsTable({ counts, groups }: ReviewSummary): Html {
  const rows = reviewOutcomes.map((outcome) => {
    const own = groups.filter((group) => group.outcome === outcome)
    return html`<tr><th scope="row">${outcomeLabels[outcome]}</th><td class="number">${formatCount(counts[outcome])}</td><td>${own.map((group) => html`${describeGroup(group, formatCount)}<br>`)}</td></tr>\n`
  })
  return html`<table>
<caption>What the rows would do, as the mirror shows it</caption>
<tbody>
${rows}</tbody>
</table>
`
}

function checksSection({ rows, checks }: ReviewSummary): Html {
  if (checks.rows === 0) return html`<p class="notes">No row was checked with the service.</p>\n`
  const items = checks.samples.map(
    (review) =>
      html`<li>row ${review.position}, ${foreign(nameOf(review))}: ${foreign(describeDifference(review))}</li>\n`,
  )
  const beyond = checks.differing - checks.samples.length
  return html`<section>
<h2>Checked with the service</h2>
<p>${formatCount(checks.rows)} of ${pluralize(rows, 'row')}, the first at ${checks.oldestAt ?? ''}; ${formatCount(checks.differing)} otherwise than the mirror shows${beyond > 0 ? `, of which these are the first ${checks.samples.length}` : ''}.</p>
<ul>
${items}</ul>
</section>
`
}

function groupSection(group: ReviewGroup): Html {
  const { outcome, samples, count } = group
  const beyond = count - samples.length
  return html`<section>
<h2>${outcomeLabels[outcome]}: ${describeGroup(group, formatCount)}</h2>
<div class="scroll">${table({ caption: null, columns: groupColumns, rows: samples.map((review) => cellsOf(review, [])) }, 'lines')}</div>
${beyond > 0 ? html`<p class="notes">… and ${pluralize(beyond, 'row')} more, below.</p>\n` : nothing}</section>
`
}

/** `middle`: cells between the name and the words. */
function cellsOf(review: CheckedReview, middle: readonly string[]): Cell[] {
  const { position, lastWords, check } = review
  const checked = check === null ? '' : check.differs ? (check.why ?? outcomeLabels[check.outcome]) : 'the same'
  return [
    ...[position, foreign(nameOf(review)), ...middle, foreign(lastWords?.text ?? '')],
    html`${foreign(describeEffect(review))}${describeOrder(review)}`,
    foreign(checked),
  ]
}

/** The target's id where there is no name. */
function nameOf({ visitorName, target }: CheckedReview): string {
  return visitorName ?? target
}

/** Its direction does not affect what stands beside it. */
function foreign(plain: string): Html {
  return html`<bdi>${showInvisible(plain)}</bdi>`
}
