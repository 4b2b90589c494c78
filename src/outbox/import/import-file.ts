/** Imports a file of write-backs: validates every row, then queues all of them in one transaction, or none. */
import { basename } from 'node:path'
import { inChunks } from '../../values/chunks.ts'
import { trimBoth } from '../../values/format.ts'
import type { ProjectName } from '../../values/project.ts'
import { needsApproval } from '../core/batches.ts'
import type { NewAuditEvent } from '../core/decision-terms.ts'
import type { QueuedImport, RejectedImport } from '../core/reports.ts'
import { importSource, type ReviewSource } from '../review/review-rows.ts'
import type { EnqueueOptions, RequestToQueue } from '../sql/enqueue.ts'
import type { ImportLookups, Outbox } from '../sql/outbox.ts'
import { type CheckOptions, type CheckResult, checkLines } from './check-lines.ts'
import type { ColumnMap, IgnoredColumns } from './csv-values.ts'
import { detectFileForm, type FileForm, type FormOptions } from './file-form.ts'
import { changedFileError, type ImportBuffer, openImportBuffer } from './import-buffer.ts'
import { createMistakesFile } from './mistakes-file.ts'
import { type ImportLine, type LineOptions, parseLines } from './parse-lines.ts'
import type { SheetOptions } from './reply-sheet.ts'

export type ParseOptions = FormOptions &
  Pick<SheetOptions, 'senderName' | 'findConversation'> & {
    readonly ignoreColumns?: IgnoredColumns
    readonly columns?: ColumnMap
    /** Some of them were said of an earlier file. */
    readonly isRemembered?: boolean
  }

export type ImportFile = {
  readonly buffer: ImportBuffer
  /** The file's path or name; null for standard input. */
  readonly name: string | null
  /** How it is to be read. */
  readonly parse: ParseOptions
}

export type CheckFileOptions = Omit<CheckOptions, 'onMistaken' | 'lookups'> & {
  /** The project's name. */
  readonly project: ProjectName
  /** Where the rows with mistakes are written; null if they are not. */
  readonly mistakesPath: string | null
  /** Called every few hundred rows. */
  readonly onProgress: (doing: 'checked' | 'queued', rows: number) => void
}

export type ImportOptions = CheckFileOptions &
  Pick<EnqueueOptions, 'createdBy' | 'expiresAt'> & {
    /** Imports of more rows than this need approval; null if none do. */
    readonly approveOver: number | null
    /** Needs approval, however many rows it has. */
    readonly draft: boolean
    readonly title: string | null
    readonly note: string | null
    /** The batch that the rows join, which may exist; without it, they are one of their own, named after the file. */
    readonly batchId?: string
    /** Called when all rows are valid, before they are queued in one transaction. */
    readonly onChecked: (check: FileCheck) => Promise<void>
    /** What the audit log of the console says of the import, in the same transaction. */
    readonly audit?: (queued: number, known: number, batch: string) => NewAuditEvent
  }

export type ImportSource = Pick<ImportFile, 'name' | 'parse'> & {
  /** A path, or a stream. */
  readonly source: string | AsyncIterable<Uint8Array>
}

/** Throws UserError if it cannot be read. */
export async function withImportFile<T>(
  { source, name, parse }: ImportSource,
  work: (file: ImportFile) => Promise<T>,
): Promise<T> {
  const buffer = await openImportBuffer(source)
  try {
    return await work({ buffer, name, parse })
  } finally {
    await buffer.close()
  }
}

/** `run` repeats the whole import while the warehouse is away: the same bytes are never queued twice. */
export async function importFile(
  outbox: Outbox,
  file: ImportFile,
  options: ImportOptions,
  run: <T>(work: () => Promise<T>) => Promise<T>,
): Promise<RejectedImport | QueuedImport> {
  const checks: FileCheck[] = []
  const onChecked = async (check: FileCheck) => {
    if (checks.length === 0) await options.onChecked(check)
    checks.push(check)
  }
  const result = await run(() => importRequests(outbox, file, { ...options, onChecked }))
  const check = checks.at(-1)
  if (result.outcome !== 'imported before' || check === undefined) return result
  // An attempt found no earlier import, so it committed, and only its response was lost.
  const counts = await outbox.countByStatus({ batch: result.batch })
  const queued = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const outcome = counts.draft === undefined ? 'queued' : 'draft'
  const known = Math.max(0, check.validRows - queued)
  return { ...toQueuedImport(options.project, outcome, check), batch: result.batch, queued, known }
}

const rowsPerInsert = 200

/** Two people may import the same replies at the same time: the second file is checked again. Then it is as fresh as it gets. */
const checksWhileOvertaken = 3

export async function importRequests(
  outbox: Outbox,
  file: ImportFile,
  options: ImportOptions,
  checksLeft = checksWhileOvertaken,
): Promise<RejectedImport | QueuedImport> {
  const { project, createdBy, expiresAt, audit, onProgress } = options
  const mark = checksLeft === 0 ? {} : { unlessMovedSince: await outbox.readQueueMark() }
  const check = await checkFile(outbox, file, options)
  if ('outcome' in check) return check
  await options.onChecked(check)
  const draft = options.draft || check.mustBeSeen
  const status = needsApproval(check.validRows, { ...options, draft }) ? 'draft' : 'queued'
  const batchId = options.batchId ?? toBatchName(file)
  const source = file.name === null ? null : basename(file.name)
  const batch = { title: options.title, source, note: options.note, reverts: null, columns: check.columns }
  const requests = inChunks(
    withProgress(readRequests(file), (count) => onProgress('queued', count)),
    rowsPerInsert,
  )
  const recorded = audit && { audit: (queued: number, known: number) => audit(queued, known, batchId) }
  const enqueueOptions = { status, batchId, createdBy, expiresAt, batch, ...mark, ...recorded } as const
  const result = await outbox.enqueue(requests, enqueueOptions, shortDigest(file))
  if ('importedAs' in result) return { outcome: 'imported before', project, batch: result.importedAs }
  if ('overtaken' in result) return importRequests(outbox, file, options, checksLeft - 1)
  const { queued, known } = result
  return { ...toQueuedImport(project, status, check), batch: queued === 0 ? null : batchId, queued, known }
}

/** Without what only the queue knows. */
function toQueuedImport(
  project: ProjectName,
  outcome: QueuedImport['outcome'],
  { differing, differingBatch, notices, ignoredColumns, emptyRows, columns }: FileCheck,
): Omit<QueuedImport, 'batch' | 'queued' | 'known'> {
  return { outcome, project, differing, differingBatch, notices, ignoredColumns, emptyRows, columns }
}

/**
 * `emptyRows`: of a sheet, those without a reply and a flag. `columns`: what a person said that they mean. `mustBeSeen`: whose
 * conversations the rows are, or what their words are, was concluded, and nobody has seen it yet.
 */
type FileCheck = CheckResult & {
  readonly emptyRows: number
  readonly columns: ColumnMap
  readonly mustBeSeen: boolean
}

/** Validates every row, and writes those with mistakes to a file. */
export async function checkFile(
  outbox: ImportLookups,
  file: ImportFile,
  { project, mistakesPath, onProgress, ...options }: CheckFileOptions,
): Promise<RejectedImport | FileCheck> {
  const batch = await outbox.importedAs(shortDigest(file))
  if (batch !== null) return { outcome: 'imported before', project, batch }
  const mistakesFile = mistakesPath === null ? null : await createMistakesFile(mistakesPath, file.name, formOf(file))
  try {
    let emptyRows = 0
    const onEmptyRow = () => {
      emptyRows += 1
    }
    const lines = withProgress(readImportLines(file, { onEmptyRow }), (count) => onProgress('checked', count))
    const onMistaken = mistakesFile === null ? {} : { onMistaken: mistakesFile.write }
    const check = await checkLines(lines, { ...options, ...onMistaken, lookups: outbox })
    const written = (await mistakesFile?.publish()) ?? 0
    const { columns = {}, isRemembered = false } = file.parse
    if (check.mistakenRows === 0) return { ...check, emptyRows, columns, mustBeSeen: isRemembered || check.found > 0 }
    const { mistakenRows: mistaken, kinds, mistakes } = check
    const rows = check.isHeaderMistaken ? 0 : check.rows
    const writtenTo = written === 0 ? null : mistakesPath
    return { outcome: 'mistaken', project, rows, mistaken, kinds, mistakes, mistakesFile: writtenTo }
  } finally {
    await mistakesFile?.discard()
  }
}

export function readImportLines(
  file: ImportFile,
  more: Pick<LineOptions, 'onEmptyRow' | 'findConversation'> = {},
): AsyncGenerator<ImportLine> {
  return parseLines(file.buffer.read(), formOf(file), { ...file.parse, ...more })
}

export function formOf({ buffer, parse }: ImportFile): FileForm {
  return detectFileForm(buffer.head, parse)
}

/** All rows were valid before. Behind some mistakes the file is not read to its end, where a change would be noticed. */
async function* readRequests(file: ImportFile): AsyncGenerator<RequestToQueue> {
  for await (const { row, result } of readImportLines(file)) {
    if (!result.ok) throw changedFileError()
    yield { ...result.request, sourceRow: row }
  }
}

export function fileSource(file: ImportFile, expiresAt: string | null): ReviewSource {
  return importSource(() => readImportLines(file), expiresAt)
}

/** Long enough to be unique, short enough to type. */
function shortDigest({ buffer }: ImportFile): string {
  return buffer.digest.slice(0, 12)
}

/** The import's name, for example `orders-0123456789ab`. */
function toBatchName(file: ImportFile): string {
  const baseName = (file.name ?? 'stdin').replace(/^.*[/\\]/, '').replace(/(?!^)\.[^.]*$/, '')
  const safeName = trimBoth(baseName.replace(/[^\w.-]+/g, '-'), '-.')
  return `${safeName.slice(0, 40) || 'import'}-${shortDigest(file)}`
}

async function* withProgress<T>(items: AsyncIterable<T>, onCount: (count: number) => void): AsyncGenerator<T> {
  let count = 0
  for await (const item of items) {
    count += 1
    if (count % rowsPerInsert === 0) onCount(count)
    yield item
  }
}
