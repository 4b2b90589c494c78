/** Writes a review to files while it runs: CSV, one HTML page, and lines to print after the counts. */

import { tmpdir } from 'node:os'
import type { ExportColumn, ExportRow } from '../../core/export.ts'
import type { WritebackReview } from '../../core/outbox/review.ts'
import type { CheckedReview } from '../../core/outbox/review-check.ts'
import type { ReviewSummary } from '../../core/outbox/review-summary.ts'
import { createCsvWriter } from '../../export/csv-writer.ts'
import { createOutputFile, type OutputFile, type OverwriteOptions } from '../../export/output-file.ts'
import { createUnnamedFile } from '../import/import-buffer.ts'
import { type ReviewPageText, reviewPageFoot, reviewPageHead, reviewPageRow } from './review-page.ts'

/** Holds text of any length in an unnamed temporary file, to be read once it is complete. */
export type TextBuffer = {
  readonly write: (text: string) => Promise<void>
  readonly read: () => AsyncGenerator<Uint8Array>
  /** Call it when done, also after an error. */
  readonly close: () => Promise<void>
}

const chunkSize = 64 * 1024

export async function openTextBuffer(): Promise<TextBuffer> {
  const file = await createUnnamedFile(tmpdir())
  return {
    write: async (text) => {
      await file.appendFile(text)
    },
    async *read() {
      for (let position = 0; ; ) {
        const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(chunkSize), 0, chunkSize, position)
        if (bytesRead === 0) return
        yield buffer.subarray(0, bytesRead)
        position += bytesRead
      }
    },
    close: () => file.close(),
  }
}

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

/** A review as CSV for spreadsheets: one line for each row. */
export const reviewColumns: readonly ExportColumn[] = [
  { name: 'row', type: 'integer' },
  { name: 'id', type: 'text' },
  { name: 'operation', type: 'text' },
  { name: 'target', type: 'text' },
  { name: 'visitor_name', type: 'text' },
  { name: 'outcome', type: 'text' },
  { name: 'reason', type: 'text' },
  { name: 'why', type: 'text' },
  { name: 'old', type: 'text' },
  { name: 'new', type: 'text' },
  { name: 'visitor_last_words', type: 'text' },
  { name: 'visitor_last_words_at', type: 'time' },
  { name: 'first_words', type: 'text' },
  { name: 'after_row', type: 'integer' },
  { name: 'expect', type: 'text' },
  { name: 'expires_at', type: 'time' },
  { name: 'checked_outcome', type: 'text' },
  { name: 'checked_why', type: 'text' },
  { name: 'checked_differs', type: 'boolean' },
  { name: 'checked_at', type: 'time' },
]

export function toReviewCells(review: CheckedReview): ExportRow {
  const { position, id, operation, target, visitorName, outcome, reason, why, changes } = review
  const { lastWords, firstWords, after, expect, expiresAt, check } = review
  return [
    ...[position, id, operation, target, visitorName, outcome, reason, why],
    ...[describeSide(changes, 'old'), describeSide(changes, 'new')],
    ...[lastWords?.text ?? null, lastWords?.at ?? null, firstWords, after, expect, expiresAt],
    ...[check?.outcome ?? null, check?.why ?? null, check?.differs ?? null, check?.checkedAt ?? null],
  ]
}

/** Null if nothing changes; of several fields `name: Ada; email: none`. */
function describeSide(changes: WritebackReview['changes'], side: 'old' | 'new'): string | null {
  const values = changes.map(({ field, ...change }) => ({ field, text: toText(change[side]) }))
  if (values.length <= 1) return values[0]?.text ?? null
  return values.map(({ field, text }) => `${field}: ${text}`).join('; ')
}

function toText(value: boolean | string | null): string {
  if (value === null) return 'none'
  return typeof value === 'boolean' ? (value ? 'handled' : 'open') : value
}
