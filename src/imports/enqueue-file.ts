/**
 * Imports a file of write-backs: validates every row, then queues all of them in one transaction,
 * or none.
 */
import { basename } from 'node:path'
import type { NewAuditEvent } from '../../schema/row.ts'
import { needsApproval } from '../outbox/core/batches.ts'
import type { ColumnMap, Outbox, WritebackRequest } from '../outbox/outbox.ts'

import { inChunks } from '../values/chunks.ts'
import { trimBoth } from '../values/format.ts'
import type { ProjectName } from '../values/project.ts'
import {
  type CheckOptions,
  checkLines,
  type ImportLookups,
  type LineMistake,
} from './check-lines.ts'
import { changedFileError } from './import-buffer.ts'
import type { MistakeKind } from './mistake-kinds.ts'
import { createMistakesFile, type MistakesTarget } from './mistakes-file.ts'
import { formOf, type ImportFile, readImportLines } from './open-file.ts'

export type CheckFileOptions = Omit<CheckOptions, 'onMistaken' | 'lookups'> & {
  readonly project: ProjectName
  /** Where the rows with mistakes are written; null if they are not. */
  readonly mistakesTarget: MistakesTarget | null
  /** Called every few hundred rows. */
  readonly onProgress: (doing: 'checked' | 'queued', rows: number) => void
}

export type ImportOptions = CheckFileOptions & {
  readonly createdBy: string | null
  /** The default for rows without an expiry. */
  readonly expiresAt: string | null
  /** Imports of more rows than this need approval; null if none do. */
  readonly approveOver: number | null
  /** Needs approval, however many rows it has. */
  readonly draft: boolean
  readonly title: string | null
  readonly note: string | null
  /**
   * The batch that the rows join, which may exist; without it, they are one of their own, named
   * after the file.
   */
  readonly batchId?: string
  /** Called when all rows are valid, before they are queued in one transaction. */
  readonly onChecked: (check: FileCheck) => Promise<void>
  /** What the audit log of the console says of the import, in the same transaction. */
  readonly audit?: (queued: number, alreadyQueued: number, batch: string) => NewAuditEvent
}

export type RejectedImport =
  | {
      readonly outcome: 'mistaken'
      readonly project: ProjectName
      /**
       * All rows of the file, but for the header and blank ones; none if the header has mistakes.
       */
      readonly rows: number
      /** How many of them have mistakes. */
      readonly mistaken: number
      readonly kinds: readonly MistakeKind[]
      /** The first hundred, in file order. */
      readonly mistakes: readonly LineMistake[]
      /**
       * The file that has these rows with their mistakes; null if none was asked for, or there are
       * no such rows.
       */
      readonly mistakesFile: string | null
    }
  /** The same bytes were imported before as `batch`. */
  | { readonly outcome: 'imported before'; readonly project: ProjectName; readonly batch: string }

export type QueuedImport = {
  readonly outcome: 'queued' | 'draft'
  readonly project: ProjectName
  /** Null if the file was empty or all refs were queued before. */
  readonly batch: string | null
  readonly queued: number
  /** How many were skipped because their refs were queued before. */
  readonly alreadyQueued: number
  /** How many of these differ from what was queued with the same ref. */
  readonly differing: number
  /** The batch of what was queued; null if there are several or none. */
  readonly differingBatch: string | null
  /** What a person should know about rows without mistakes. */
  readonly notices: readonly MistakeKind[]
  /** The columns that were let through. */
  readonly ignoredColumns: readonly string[]
  /** Rows of a sheet without a reply and a flag: they are still to be written. */
  readonly emptyRows: number
  /** What a person said that a column means, now or for an earlier file; `ignored` = nothing. */
  readonly columns: Readonly<Record<string, string>>
}

/**
 * `run` repeats the whole import while the warehouse is away: the same bytes are never queued
 * twice.
 */
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
  const alreadyQueued = Math.max(0, check.validRows - queued)
  return {
    ...toQueuedImport(options.project, outcome, check),
    batch: result.batch,
    queued,
    alreadyQueued,
  }
}

const rowsPerInsert = 200

/**
 * Two people may import the same replies at the same time: the second file is checked again. Then
 * it is as fresh as it gets.
 */
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
  const requests = inChunks(
    withProgress(readRequests(file, options.batchId === undefined), (count) =>
      onProgress('queued', count),
    ),
    rowsPerInsert,
  )
  const enqueueOptions: Parameters<Outbox['enqueue']>[1] = {
    status,
    batchId,
    createdBy,
    expiresAt,
    batch: {
      title: options.title,
      source: file.name === null ? null : basename(file.name),
      note: options.note,
      reverts: null,
      columns: check.columns,
    },
    ...mark,
    ...(audit && { audit: (queued, alreadyQueued) => audit(queued, alreadyQueued, batchId) }),
  }
  const result = await outbox.enqueue(requests, enqueueOptions, shortDigest(file))
  if ('importedAs' in result)
    return { outcome: 'imported before', project, batch: result.importedAs }
  if ('overtaken' in result) return importRequests(outbox, file, options, checksLeft - 1)
  const { queued, alreadyQueued } = result
  return {
    ...toQueuedImport(project, status, check),
    batch: queued === 0 ? null : batchId,
    queued,
    alreadyQueued,
  }
}

/** Without what only the queue knows. */
function toQueuedImport(
  project: ProjectName,
  outcome: QueuedImport['outcome'],
  { differing, differingBatch, notices, ignoredColumns, emptyRows, columns }: FileCheck,
): Omit<QueuedImport, 'batch' | 'queued' | 'alreadyQueued'> {
  return {
    outcome,
    project,
    differing,
    differingBatch,
    notices,
    ignoredColumns,
    emptyRows,
    columns,
  }
}

type FileCheck = Awaited<ReturnType<typeof checkLines>> & {
  readonly emptyRows: number
  readonly columns: ColumnMap
  /** Whose conversations the rows are, or what their words are, was concluded and not seen yet. */
  readonly mustBeSeen: boolean
}

/** Validates every row, and writes those with mistakes to a file. */
export async function checkFile(
  outbox: ImportLookups,
  file: ImportFile,
  { project, mistakesTarget, onProgress, ...options }: CheckFileOptions,
): Promise<RejectedImport | FileCheck> {
  const mistakesFile =
    mistakesTarget === null ? null : createMistakesFile(mistakesTarget, formOf(file))
  const batch = await outbox.findImport(shortDigest(file))
  if (batch !== null) return { outcome: 'imported before', project, batch }
  try {
    let emptyRows = 0
    const onEmptyRow = () => {
      emptyRows += 1
    }
    const lines = withProgress(readImportLines(file, { onEmptyRow }), (count) =>
      onProgress('checked', count),
    )
    const onMistaken = mistakesFile === null ? {} : { onMistaken: mistakesFile.write }
    const check = await checkLines(lines, { ...options, ...onMistaken, lookups: outbox })
    const written = (await mistakesFile?.publish()) ?? 0
    const { columns = {}, isRemembered = false } = file.parse
    if (check.mistakenRows === 0)
      return { ...check, emptyRows, columns, mustBeSeen: isRemembered || check.toBeSeen > 0 }
    const { mistakenRows: mistaken, kinds, mistakes } = check
    const rows = check.isHeaderMistaken ? 0 : check.rows
    const writtenTo = written === 0 ? null : (mistakesTarget?.path ?? null)
    return {
      outcome: 'mistaken',
      project,
      rows,
      mistaken,
      kinds,
      mistakes,
      mistakesFile: writtenTo,
    }
  } finally {
    await mistakesFile?.discard()
  }
}

/**
 * All rows were valid before. Behind some mistakes the file is not read to its end, where a change
 * would be noticed. `isNumbered`: of a batch that several files join, many rows would be the first.
 */
async function* readRequests(
  file: ImportFile,
  isNumbered: boolean,
): AsyncGenerator<WritebackRequest> {
  for await (const { row, result, foundBy } of readImportLines(file)) {
    if (!result.ok) throw changedFileError()
    yield {
      ...result.request,
      ...(isNumbered ? { sourceRow: row } : {}),
      ...(foundBy === undefined ? {} : { foundBy }),
    }
  }
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

async function* withProgress<T>(
  items: AsyncIterable<T>,
  onCount: (count: number) => void,
): AsyncGenerator<T> {
  let count = 0
  for await (const item of items) {
    count += 1
    if (count % rowsPerInsert === 0) onCount(count)
    yield item
  }
}
