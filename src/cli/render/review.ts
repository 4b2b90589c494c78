/** Renders a review: counts by group first, then samples of each. */

import {
  describeDifference,
  describeEffect,
  describeGroup,
  describeOrder,
  outcomeLabels,
} from '../../outbox/core/review-labels.ts'
import type { CheckedReview, ReviewGroup, ReviewSummary } from '../../outbox/core/review-summary.ts'
import { operationTypes, reviewActions } from '../../outbox/core/writeback-request.ts'
import { formatAge, formatCount, pluralize } from '../../values/format.ts'
import { showInvisible } from '../../values/invisible.ts'
import type { EpochMs } from '../../values/time.ts'
import { renderMore, truncate } from './outbox.ts'
import { alignColumns } from './table.ts'

/** Fits beside the other columns on a wide terminal; a page shows more. */
const widestCell = 60

export function renderReview(summary: ReviewSummary, now: EpochMs): string[] {
  const { rows, groups } = summary
  if (rows === 0) return ['nothing to review']
  return [
    ...alignColumns(groups.map((group) => [outcomeLabels[group.outcome], describeGroup(group, formatCount)])),
    ...groups.flatMap(renderSamples),
    ...renderChecks(summary, now),
  ]
}

function renderSamples(group: ReviewGroup): string[] {
  const { outcome, count, samples } = group
  const header = `${outcomeLabels[outcome]}: ${describeGroup(group, formatCount)}`
  const cells = withoutEmptyColumns([sampleHeader, ...samples.map(toSampleCells)])
  return ['', header, ...alignColumns(cells, '  '), ...renderMore(count, samples.length)]
}

const sampleHeader = ['row', 'visitor', 'last words', 'effect']

function toSampleCells(review: CheckedReview): string[] {
  const { position, lastWords } = review
  return [String(position), toCell(nameOf(review)), quote(lastWords?.text ?? null), toCell(effectOf(review))]
}

/** The header does not count. */
function withoutEmptyColumns(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const isUsed = (column: number) => rows.slice(1).some((row) => row[column] !== '')
  return rows.map((row) => row.filter((_, column) => isUsed(column)))
}

/** One line for each row, for lists of any length. */
export function renderReviewRow(review: CheckedReview): string {
  const { position, outcome, action, lastWords } = review
  const words = lastWords === null ? [] : [`last words ${quote(lastWords.text)}`]
  const cells = [String(position).padStart(6), outcomeLabels[outcome].padEnd(17), reviewActions[action][0].padEnd(15)]
  return [...cells, showInvisible(nameOf(review)), ...words, showInvisible(effectOf(review))].join('  ')
}

/** The target's id where there is no name. */
function nameOf({ visitorName, operation, target }: CheckedReview): string {
  return visitorName ?? `${operationTypes[operation].target} ${target}`
}

function effectOf(review: CheckedReview): string {
  return `${describeEffect(review)}${describeOrder(review)}`
}

function renderChecks({ rows, checks }: ReviewSummary, now: EpochMs): string[] {
  if (checks.rows === 0) return []
  const { oldestAt, differing, samples } = checks
  const same = `${formatCount(checks.rows - differing)} as the mirror shows`
  const cells = samples.map((review) => [String(review.position), toCell(nameOf(review)), describeDifference(review)])
  return [
    '',
    `checked with the service, ${formatAge(oldestAt, now)}: ${formatCount(checks.rows)} of ${pluralize(rows, 'row')}; ${same}, ${formatCount(differing)} otherwise`,
    ...alignColumns(cells, '  '),
    ...renderMore(differing, samples.length),
  ]
}

function quote(text: string | null): string {
  return text === null ? '' : `"${toCell(text)}"`
}

function toCell(text: string): string {
  return truncate(text, widestCell)
}
