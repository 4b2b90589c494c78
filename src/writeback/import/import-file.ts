/** An import, told as a story: every line is checked, then all are queued, or none. */

import type { EnqueueOptions, OutboxAdmin } from '../../core/outbox/admin.ts'
import type { WritebackRequest } from '../../core/outbox/writeback-request.ts'
import type { EpochMs } from '../../core/time.ts'
import { trimBoth } from '../../core/trim.ts'
import { type CheckResult, checkLines } from './check-lines.ts'
import type { ImportLine } from './import-line.ts'
import { type ImportFormat, parseLines } from './parse-lines.ts'
import type { ImportBuffer } from './import-buffer.ts'

export type ImportFile = {
  readonly buffer: ImportBuffer
  /** A file's path or name; null = standard input. */
  readonly name: string | null
  readonly format: ImportFormat
}

export type ImportResult =
  | { readonly kind: 'mistaken'; readonly checkResult: CheckResult }
  | { readonly kind: 'imported before'; readonly batch: string }
  | {
      readonly kind: 'queued'
      readonly batch: string
      readonly status: EnqueueOptions['status']
      readonly queued: number
      readonly known: number
    }

export type ImportOptions = Pick<EnqueueOptions, 'createdBy' | 'expiresAt'> & {
  /** More rows than that wait for approval; null = none do. */
  readonly approveOver: number | null
  readonly now: EpochMs
  /** Told now and then. */
  readonly onProgress: (doing: 'checked' | 'queued', lines: number) => void
  /** All lines are good, and so many rows are queued now, in one transaction. */
  readonly onQueueing: (rows: number) => void
}

const rowsPerInsert = 200

export async function importRequests(admin: OutboxAdmin, file: ImportFile, options: ImportOptions): Promise<ImportResult> {
  const { onProgress, onQueueing, approveOver, now, createdBy, expiresAt } = options
  const before = await admin.importedAs(shortDigest(file))
  if (before !== null) return { kind: 'imported before', batch: before }
  const checkResult = await checkLines(
    withProgress(readImportLines(file), (lines) => onProgress('checked', lines)),
    now,
  )
  if (checkResult.mistakenLines > 0) return { kind: 'mistaken', checkResult }
  const status = needsApproval(checkResult.validLines, approveOver) ? 'draft' : 'queued'
  const batch = toBatchName(file)
  onQueueing(checkResult.validLines)
  const requests = withProgress(readRequests(file), (lines) => onProgress('queued', lines))
  const result = await admin.enqueue(inChunks(requests), { status, batchId: batch, createdBy, expiresAt }, shortDigest(file))
  if ('importedAs' in result) return { kind: 'imported before', batch: result.importedAs }
  return { kind: 'queued', batch, status, queued: result.queued, known: result.known }
}

export function readImportLines({ buffer, format }: ImportFile): AsyncGenerator<ImportLine> {
  return parseLines(buffer.read(), format)
}

/** Of a file that was checked. Where a line has a mistake all the same the file has changed, and its reading ends so. */
async function* readRequests(file: ImportFile): AsyncGenerator<WritebackRequest> {
  for await (const { result: read } of readImportLines(file)) if (read.ok) yield read.request
}

export function needsApproval(rows: number, approveOver: number | null): boolean {
  return approveOver !== null && rows > approveOver
}

/** Enough of the file's digest to tell it from others, and little enough for a person to type. */
export function shortDigest({ buffer }: ImportFile): string {
  return buffer.digest.slice(0, 12)
}

/** `orders-0123456789ab`: what people call the import. */
export function toBatchName(file: ImportFile): string {
  const baseName = (file.name ?? 'stdin').replace(/^.*[/\\]/, '').replace(/(?!^)\.[^.]*$/, '')
  const safeName = trimBoth(baseName.replace(/[^\w.-]+/g, '-'), '-.')
  return `${safeName.slice(0, 40) || 'import'}-${shortDigest(file)}`
}

async function* inChunks(requests: AsyncIterable<WritebackRequest>): AsyncGenerator<readonly WritebackRequest[]> {
  let chunk: WritebackRequest[] = []
  for await (const request of requests) {
    chunk.push(request)
    if (chunk.length < rowsPerInsert) continue
    yield chunk
    chunk = []
  }
  if (chunk.length > 0) yield chunk
}

async function* withProgress<T>(items: AsyncIterable<T>, onCount: (count: number) => void): AsyncGenerator<T> {
  let count = 0
  for await (const item of items) {
    count += 1
    if (count % rowsPerInsert === 0) onCount(count)
    yield item
  }
}
