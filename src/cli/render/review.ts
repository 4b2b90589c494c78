/** Shows a review: counts by group with samples, and all rows as lines, a page or CSV. */

import { Option } from 'commander'
import type { KeptFiles } from '../../export/export.ts'
import { otherOutput } from '../../export/kept-files.ts'
import { operationTypes, reviewActions } from '../../outbox/core/operations.ts'
import {
  describeEffect,
  describeGroup,
  describeMirrorAge,
  describeOrder,
  outcomeLabels,
} from '../../outbox/core/review/labels.ts'
import type { OnReviews, ReviewGroup, ReviewSummary, WritebackReview } from '../../outbox/outbox.ts'
import { formatAge, formatCount } from '../../values/format.ts'
import { showInvisible } from '../../values/invisible.ts'
import type { EpochMs } from '../../values/time.ts'
import type { CommandContext } from '../command-context.ts'
import { renderMore, truncate } from './outbox.ts'
import {
  openCsvOutput,
  openLinesOutput,
  openPageOutput,
  type ReviewOutput,
  type ReviewPageText,
} from './review-files.ts'
import { alignColumns } from './table.ts'

/** Fits beside the other columns on a wide terminal; a page shows more. */
const widestCell = 60

export function renderReview(summary: ReviewSummary, now: EpochMs): string[] {
  const { rows, groups, mirrorAsOf } = summary
  if (rows === 0) return ['nothing to review']
  const counts = groups.map((group) => [
    outcomeLabels[group.outcome],
    describeGroup(group, formatCount),
  ])
  return [
    // Above a single group's rows the same line follows.
    ...(groups.length === 1 ? [] : alignColumns(counts)),
    describeMirrorAge(mirrorAsOf, (at) => `${formatAge(at, now)} (${at})`),
    ...renderMarked(summary),
    ...groups.flatMap(renderSamples),
  ]
}

function renderMarked({ marked }: ReviewSummary): string[] {
  if (marked.rows === 0) return []
  const lines = marked.samples.flatMap((review) =>
    review.marks.map((mark) => [
      String(review.position),
      toCell(nameOf(review)),
      showInvisible(mark),
    ]),
  )
  const header = `look at ${marked.rows === 1 ? 'this row' : `these ${formatCount(marked.rows)} rows`} first:`
  return [
    '',
    header,
    ...alignColumns(lines, '  '),
    ...renderMore(marked.rows, marked.samples.length),
  ]
}

function renderSamples(group: ReviewGroup): string[] {
  const { outcome, count, samples } = group
  const header = `${outcomeLabels[outcome]}: ${describeGroup(group, formatCount)}`
  const cells = withoutEmptyColumns([sampleHeader, ...samples.map(toSampleCells)])
  return ['', header, ...alignColumns(cells, '  '), ...renderMore(count, samples.length)]
}

const sampleHeader = ['row', 'visitor', 'last words', 'sender', 'effect']

function toSampleCells(review: WritebackReview): string[] {
  const { position, lastWords, senderName } = review
  const sender = toCell(senderName ?? '')
  return [
    String(position),
    toCell(nameOf(review)),
    quote(lastWords?.text ?? null),
    sender,
    toCell(effectOf(review)),
  ]
}

/** The header does not count. */
function withoutEmptyColumns(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const isUsed = (column: number) => rows.slice(1).some((row) => row[column] !== '')
  return rows.map((row) => row.filter((_, column) => isUsed(column)))
}

/** One line for each row, for lists of any length. */
function renderReviewRow(review: WritebackReview): string {
  const { position, outcome, action, lastWords, senderName, marks } = review
  const words = lastWords === null ? [] : [`last words ${quote(lastWords.text)}`]
  const cells = [
    String(position).padStart(6),
    outcomeLabels[outcome].padEnd(17),
    reviewActions[action][0].padEnd(15),
  ]
  const sender = senderName === null ? [] : [`as ${showInvisible(senderName)}`]
  const shown = marks.map((mark) => `! ${showInvisible(mark)}`)
  return [
    ...cells,
    showInvisible(nameOf(review)),
    ...words,
    ...sender,
    showInvisible(effectOf(review)),
    ...shown,
  ].join('  ')
}

function nameOf({ visitorName, operation, target }: WritebackReview): string {
  return visitorName ?? `${operationTypes[operation].target} ${target}`
}

function effectOf(review: WritebackReview): string {
  return `${describeEffect(review)}${describeOrder(review)}`
}

function quote(text: string | null): string {
  return text === null ? '' : `"${toCell(text)}"`
}

function toCell(text: string): string {
  return truncate(text, widestCell)
}

export type ReviewOutputOptions = {
  readonly all?: true
  readonly html?: string
  readonly csv?: string
  readonly force?: true
}

export const reviewOutputOptions = () => [
  new Option('--all', 'list every row, after the counts').conflicts('json'),
  new Option('--html <file>', 'write all of it as one page to look at and to pass on'),
  new Option('--csv <file>', 'write all rows as CSV'),
  new Option('--force', 'overwrite files that exist'),
]

/** Throws UserError if a file may not be written, or cannot be created. */
export async function openReviewOutputs(
  context: CommandContext,
  { all, html, csv, force }: ReviewOutputOptions,
  kept: KeptFiles,
) {
  const outputs: ReviewOutput[] = []
  const close = async () => {
    for (const output of outputs) await output.close()
  }
  const options = { overwrite: force === true, kept }
  const others = html === undefined ? [] : [otherOutput(html)]
  try {
    if (html !== undefined) outputs.push(await openPageOutput(html, options))
    if (csv !== undefined)
      outputs.push(await openCsvOutput(csv, { ...options, kept: [...kept, ...others] }))
    if (all === true)
      outputs.push(await openLinesOutput(renderReviewRow, context.openStdout().write))
  } catch (error) {
    await close()
    throw error
  }
  const onReviews: OnReviews = async (reviews) => {
    for (const output of outputs) await output.write(reviews)
  }
  return {
    /** Null if nothing needs the rows. */
    onReviews: outputs.length === 0 ? null : onReviews,
    /** Finishes the files, and prints `lines`, which are the counts, and then all rows. */
    finish: async (
      summary: ReviewSummary,
      text: ReviewPageText,
      lines: readonly string[] | null,
    ): Promise<void> => {
      if (lines !== null)
        context.writeOut(`${[...lines, ...(all === true ? ['', 'all rows:'] : [])].join('\n')}\n`)
      for (const output of outputs) await output.finish(summary, text)
      const written = [html, csv].flatMap((path) => (path === undefined ? [] : [`wrote ${path}\n`]))
      if (lines !== null) context.writeOut(written.join(''))
    },
    /** Call it when done, also after an error. */
    close,
  }
}
