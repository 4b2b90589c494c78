/** Imports a file of write-backs: validates every line, then queues all of them in one transaction, or none. */
import type { EnqueueOptions, OutboxAdmin } from '../../core/outbox/admin.ts'
import type { QueuedImport, RejectedImport } from '../../core/outbox/reports.ts'
import type { WritebackRequest } from '../../core/outbox/writeback-request.ts'
import type { EpochMs } from '../../core/time.ts'
import { trimBoth } from '../../core/trim.ts'
import { checkLines } from './check-lines.ts'
import type { ImportBuffer } from './import-buffer.ts'
import { type ImportFormat, type ImportLine, parseLines } from './parse-lines.ts'

export type ImportFile = {
  readonly buffer: ImportBuffer
  /** The file's path or name; null for standard input. */
  readonly name: string | null
  readonly format: ImportFormat
}

export type ImportOptions = Pick<EnqueueOptions, 'createdBy' | 'expiresAt'> & {
  /** The project's name. */
  readonly project: string
  /** Imports of more rows than this need approval; null if none do. */
  readonly approveOver: number | null
  readonly now: EpochMs
  /** Called every few hundred lines. */
  readonly onProgress: (doing: 'checked' | 'queued', lines: number) => void
  /** Called when all lines are valid, before `rows` rows are queued in one transaction. */
  readonly onQueueing: (rows: number) => void
}

const rowsPerInsert = 200

export async function importRequests(
  admin: OutboxAdmin,
  file: ImportFile,
  options: ImportOptions,
): Promise<RejectedImport | QueuedImport> {
  const { project, onProgress, onQueueing, approveOver, now, createdBy, expiresAt } = options
  const before = await admin.importedAs(shortDigest(file))
  if (before !== null) return { outcome: 'imported before', project, batch: before }
  const lines = withProgress(readImportLines(file), (count) => onProgress('checked', count))
  const { validLines, mistakenLines: mistaken, mistakes } = await checkLines(lines, now)
  if (mistaken > 0) return { outcome: 'mistaken', project, mistaken, mistakes }
  const status = needsApproval(validLines, approveOver) ? 'draft' : 'queued'
  const batch = toBatchName(file)
  onQueueing(validLines)
  const requests = inChunks(withProgress(readRequests(file), (count) => onProgress('queued', count)))
  const result = await admin.enqueue(requests, { status, batchId: batch, createdBy, expiresAt }, shortDigest(file))
  if ('importedAs' in result) return { outcome: 'imported before', project, batch: result.importedAs }
  const { queued, known } = result
  return { outcome: status, project, batch: queued === 0 ? null : batch, queued, known }
}

export function readImportLines({ buffer, format }: ImportFile): AsyncGenerator<ImportLine> {
  return parseLines(buffer.read(), format)
}

/** Skips invalid lines: the file was checked, so they mean that it changed, and then the read ends with an error. */
async function* readRequests(file: ImportFile): AsyncGenerator<WritebackRequest> {
  for await (const { result } of readImportLines(file)) if (result.ok) yield result.request
}

export function needsApproval(rows: number, approveOver: number | null): boolean {
  return approveOver !== null && rows > approveOver
}

/** Long enough to be unique, short enough to type. */
export function shortDigest({ buffer }: ImportFile): string {
  return buffer.digest.slice(0, 12)
}

/** The import's name, for example `orders-0123456789ab`. */
function toBatchName(file: ImportFile): string {
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
