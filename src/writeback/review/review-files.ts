/** Writes a review to files while it runs: CSV, one HTML page, and lines to print after the counts. */
import type { CheckedReview } from '../../core/outbox/review-check.ts'
import type { ReviewSummary } from '../../core/outbox/review-summary.ts'
import { createCsvWriter } from '../../export/csv-writer.ts'
import { createOutputFile, type OutputFile, type OverwriteOptions } from '../../export/output-file.ts'
import { reviewColumns, toReviewCells } from './review-csv.ts'
import { type ReviewPageText, reviewPageFoot, reviewPageHead, reviewPageRow } from './review-page.ts'
import { openTextBuffer } from './text-buffer.ts'

/** A place for a review, which shows its counts first. */
export type ReviewOutput = {
  readonly write: (reviews: readonly CheckedReview[]) => Promise<void>
  /** Call it after all rows. */
  readonly finish: (summary: ReviewSummary, text: ReviewPageText) => Promise<void>
  /** Removes what is not finished. Call it when done, also after an error. */
  readonly close: () => Promise<void>
}

/** Throws UserError if the file exists or cannot be created. */
export async function openCsvOutput(path: string, options: OverwriteOptions): Promise<ReviewOutput> {
  const file = await createOutputFile(path, options)
  const writer = createCsvWriter(reviewColumns, file.output, { forSpreadsheets: true })
  return publishing(file, {
    write: (reviews) => writer.write(reviews.map(toReviewCells)),
    finish: () => writer.end(),
    close: async () => {},
  })
}

/** Throws UserError if the file exists or cannot be created. */
export async function openPageOutput(path: string, options: OverwriteOptions): Promise<ReviewOutput> {
  const file = await createOutputFile(path, options)
  const { output } = file
  const rows = await openTextBuffer()
  return publishing(file, {
    write: (reviews) => rows.write(reviews.map(reviewPageRow).join('')),
    finish: async (summary, text) => {
      await output.write(Buffer.from(reviewPageHead(text, summary)))
      for await (const chunk of rows.read()) await output.write(chunk)
      await output.write(Buffer.from(reviewPageFoot))
    },
    close: rows.close,
  })
}

/** `toLine`: without a line end. `print`: resolves when more may be printed. */
export async function openLinesOutput(
  toLine: (review: CheckedReview) => string,
  print: (bytes: Uint8Array) => Promise<void>,
): Promise<ReviewOutput> {
  const lines = await openTextBuffer()
  return {
    write: (reviews) => lines.write(reviews.map((review) => `${toLine(review)}\n`).join('')),
    finish: async () => {
      for await (const chunk of lines.read()) await print(chunk)
    },
    close: lines.close,
  }
}

/** The file appears when the output is finished. */
function publishing(file: OutputFile, output: ReviewOutput): ReviewOutput {
  let isPublished = false
  return {
    write: output.write,
    finish: async (summary, text) => {
      await output.finish(summary, text)
      await file.publish()
      isPublished = true
    },
    close: async () => {
      await output.close()
      if (!isPublished) await file.discard()
    },
  }
}
