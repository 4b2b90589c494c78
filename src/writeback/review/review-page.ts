/**
 * A review as one HTML file to look at and to pass on: without scripts, and without requests to anywhere. Texts of others
 * are escaped, isolated in direction, and show their invisible characters.
 */
import { formatCount, pluralize } from '../../core/format.ts'
import { type Html, html, nothing, trusted } from '../../core/html/html.ts'
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
import { style } from '../../report/html/style.ts'

export type ReviewPageText = {
  /** What is reviewed: the name of a file or a batch. */
  readonly title: string
  /** When, by whom it is queued, and the like; a line each. */
  readonly notes: readonly string[]
}

/** Should any text ever get past the escaping, a browser still runs and loads nothing. */
const policy = "default-src 'none'; style-src 'unsafe-inline'"

/** Up to the table of all rows, which follows as `reviewPageRow`. */
export function reviewPageHead({ title, notes }: ReviewPageText, summary: ReviewSummary): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Review of ${showInvisible(title)}</title>
${trusted(`<style>${style}</style>`)}
</head>
<body>
<main>
<h1>Review of ${foreign(title)}</h1>
${notes.map((note) => html`<p class="notes">${foreign(note)}</p>\n`)}${countsTable(summary)}${checksSection(summary)}${summary.groups.map(groupSection)}<section>
<h2>All ${pluralize(summary.rows, 'row')}</h2>
<div class="scroll"><table>
<thead><tr>${headerCells([...rowHeader, 'outcome', ...effectHeader])}</tr></thead>
<tbody>
`.html
}

export function reviewPageRow(review: CheckedReview): string {
  return rowOf(review, [text(actionNames[review.action]), text(outcomeLabels[review.outcome])]).html
}

export const reviewPageFoot = `</tbody>
</table></div>
</section>
</main>
</body>
</html>
`

const rowHeader = ['row', 'visitor', 'operation'] as const
const effectHeader = ['last words of the visitor', 'effect', 'checked with the service'] as const

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
<div class="scroll"><table>
<thead><tr>${headerCells(['row', 'visitor', ...effectHeader])}</tr></thead>
<tbody>
${samples.map((review) => rowOf(review, []))}</tbody>
</table></div>
${beyond > 0 ? html`<p class="notes">… and ${pluralize(beyond, 'row')} more, below.</p>\n` : nothing}</section>
`
}

function headerCells(names: readonly string[]): readonly Html[] {
  return names.map((name) => html`<th scope="col">${name}</th>`)
}

/** `middle`: cells between the name and the words. */
function rowOf(review: CheckedReview, middle: readonly Html[]): Html {
  const { position, lastWords, check } = review
  const checked = check === null ? '' : check.differs ? (check.why ?? outcomeLabels[check.outcome]) : 'the same'
  const cells = [
    foreign(nameOf(review)),
    ...middle,
    foreign(lastWords?.text ?? ''),
    html`${foreign(describeEffect(review))}${describeOrder(review)}`,
    foreign(checked),
  ]
  return html`<tr><th scope="row" class="number">${position}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>\n`
}

/** The target's id where there is no name. */
function nameOf({ visitorName, target }: CheckedReview): string {
  return visitorName ?? target
}

function text(plain: string): Html {
  return html`${plain}`
}

/** Its direction does not affect what stands beside it. */
function foreign(plain: string): Html {
  return html`<bdi>${showInvisible(plain)}</bdi>`
}
