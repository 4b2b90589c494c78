/** Where a review goes beside the counts: all rows on standard output, one HTML page, CSV. */
import { Option } from 'commander'
import type { Config } from '../../config/config.ts'
import type { ReviewSummary } from '../../outbox/core/review-summary.ts'
import {
  openCsvOutput,
  openLinesOutput,
  openPageOutput,
  type ReviewOutput,
  type ReviewPageText,
} from '../../outbox/review/review-files.ts'
import type { OnReviews } from '../../outbox/review/review-source.ts'
import { pluralize } from '../../values/format.ts'
import type { CommandContext } from '../command-context.ts'
import { createProgressLine, type Display } from '../render/display.ts'
import { formatBudget } from '../render/progress.ts'
import { renderReviewRow } from '../render/review.ts'

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
  new Option('--force', 'overwrite the files of --html and --csv'),
]

type ReviewOutputs = {
  /** Null if nothing needs the rows. */
  readonly onReviews: OnReviews | null
  /** Finishes the files, and prints `lines`, which are the counts, and then all rows. Null prints nothing. */
  readonly finish: (summary: ReviewSummary, text: ReviewPageText, lines: readonly string[] | null) => Promise<void>
  /** Call it when done, also after an error. */
  readonly close: () => Promise<void>
}

/** Throws UserError if a file cannot be created. */
export async function openReviewOutputs(
  context: CommandContext,
  { all, html, csv, force }: ReviewOutputOptions,
): Promise<ReviewOutputs> {
  const outputs: ReviewOutput[] = []
  const close = async () => {
    for (const output of outputs) await output.close()
  }
  const overwrite = force === true
  try {
    if (html !== undefined) outputs.push(await openPageOutput(html, { overwrite }))
    if (csv !== undefined) outputs.push(await openCsvOutput(csv, { overwrite }))
    if (all === true) outputs.push(await openLinesOutput(renderReviewRow, context.openStdout().write))
  } catch (error) {
    await close()
    throw error
  }
  const onReviews: OnReviews = async (reviews) => {
    for (const output of outputs) await output.write(reviews)
  }
  return {
    onReviews: outputs.length === 0 ? null : onReviews,
    finish: async (summary, text, lines) => {
      if (lines !== null) context.writeOut(`${[...lines, ...(all === true ? ['', 'all rows:'] : [])].join('\n')}\n`)
      for (const output of outputs) await output.finish(summary, text)
      const written = [html, csv].flatMap((path) => (path === undefined ? [] : [`wrote ${path}\n`]))
      if (lines !== null) context.writeOut(written.join(''))
    },
    close,
  }
}

/** What a check with the service needs, and where it shows its progress. */
export async function toCheckRequest(context: CommandContext, config: Config, display: Display, limit: number) {
  const handlers = createProgressLine(
    display,
    0,
    (rows, budget) => `${pluralize(rows, 'row')} compared${budget === null ? '' : `   ${formatBudget(budget)}`}`,
  )
  const signal = context.openInterruptSignal(display, 'the rows in progress')
  return { limit, signal, log: await context.openLog(config, display), ...handlers }
}
