/**
 * A file to import: opened so that it can be read more than once, with what it takes to read it:
 * what its columns mean, and whose conversations its rows are.
 */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { chunkSize, createUnnamedFile, readFromStart } from '../export/output-file.ts'
import { toMistake } from '../outbox/core/writeback-request.ts'
import type { Outbox, ReviewSource } from '../outbox/outbox.ts'
import type { ColumnRules } from '../values/column-rules.ts'
import { formatBytes } from '../values/format.ts'
import { systemErrorText, UserError } from '../values/user-error.ts'
import type { ProjectDb } from '../warehouse/project-db.ts'
import { toColumnKey, visitorColumns } from './csv-column-names.ts'
import { readRecords, readTextLines } from './csv-records.ts'
import { readColumns } from './csv-values.ts'
import { detectFileForm, type FileForm, type FormOptions, fileError } from './file-form.ts'
import { type ImportLine, type LineOptions, parseLines } from './parse-lines.ts'
import type { SoughtVisitor, VisitorMatch } from './reply-sheet.ts'
import { findVisitorConversations } from './sql/visitor-matches.ts'
import { isWorkbook, maxWorkbookBytes, toCsv, workbookForm } from './workbook.ts'

export type ImportFile = {
  readonly buffer: Awaited<ReturnType<typeof openImportBuffer>>
  /** The file's path or name; null for standard input. */
  readonly name: string | null
  /** How it is to be read. `isRemembered`: some of `columns` were said of an earlier file. */
  readonly parse: FormOptions & LineOptions & { readonly isRemembered?: boolean }
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

export function readImportLines(
  file: ImportFile,
  more: LineOptions = {},
): AsyncGenerator<ImportLine> {
  return parseLines(file.buffer.read(), formOf(file), { ...file.parse, ...more })
}

export function formOf({ buffer, parse }: ImportFile): FileForm {
  return buffer.isWorkbook ? workbookForm : detectFileForm(buffer.head, parse)
}

/**
 * The file with what it takes to read it: what its columns meant in the last file that had these,
 * and whose conversations its addresses and names are. Both are found once, so that all reads of
 * the file agree.
 */
export async function prepareFile(
  context: ProjectDb,
  outbox: Pick<Outbox, 'listColumnMaps'>,
  given: ImportFile,
  columnRules: ColumnRules,
): Promise<ImportFile> {
  const head = await readHead(given)
  if (head === null) return given
  const unknown = head.columns.filter(({ meaning }) => meaning === null).map(({ key }) => key)
  const earlier = unknown.length === 0 ? [] : await outbox.listColumnMaps()
  const remembered = earlier.find((map) => unknown.every((key) => Object.hasOwn(map, key))) ?? {}
  const known = Object.entries(remembered).filter(([name]) =>
    head.columns.some(({ key }) => key === name),
  )
  const columns = { ...Object.fromEntries(known), ...given.parse.columns }
  const file = { ...given, parse: { ...given.parse, columns, isRemembered: known.length > 0 } }
  const sought = new Map<string, SoughtVisitor>()
  const note = (visitor: SoughtVisitor): VisitorMatch => {
    sought.set(JSON.stringify(visitor), visitor)
    return { mistake: toMistake(null, 'is still to be found') }
  }
  const { isSheet, meant } = readColumns(head.cells, columns)
  const isSought = isSheet && visitorColumns.some((column) => meant.includes(column))
  if (!isSought || file.parse.findConversation !== undefined) return file
  for await (const _ of readImportLines(file, { findConversation: note }));
  const matches = await context.retry.run(() =>
    findVisitorConversations(context, [...sought.values()], columnRules),
  )
  const found = new Map([...sought.keys()].map((key, index) => [key, matches[index]]))
  const findConversation = (visitor: SoughtVisitor) =>
    found.get(JSON.stringify(visitor)) ?? note(visitor)
  return { ...file, parse: { ...file.parse, findConversation } }
}

const exampleRows = 20

/**
 * The columns of a CSV file, each with its likely meaning and its first value; null: it has none.
 */
export async function readHead(file: ImportFile) {
  const form = formOf(file)
  if (form.format !== 'csv') return null
  const rows: (readonly string[])[] = []
  for await (const { cells } of readRecords(readTextLines(file.buffer.read(), form), form)) {
    if (cells.some((cell) => cell.trim() !== '')) rows.push(cells)
    if (rows.length > exampleRows) break
  }
  const [cells, ...others] = rows
  if (cells === undefined) return null
  const { likely } = readColumns(cells, file.parse.columns)
  const columns = cells.map((cell, index) => ({
    title: cell.trim(),
    key: toColumnKey(cell),
    meaning: likely[index] ?? null,
    example: others.map((row) => row[index]?.trim() ?? '').find((value) => value !== '') ?? '',
  }))
  return { cells, columns: columns.filter(({ key }) => key !== '') }
}

/** What its valid rows would do. `expiresAt`: the default for rows without an expiry. */
export function fileSource(file: ImportFile, expiresAt: string | null): ReviewSource {
  return {
    batch: null,
    async *rows() {
      let place = 0
      for await (const { row: position, result } of readImportLines(file)) {
        if (!result.ok) continue
        place += 1
        const request = { ...result.request, expiresAt: result.request.expiresAt ?? expiresAt }
        const { operation, target } = request
        yield {
          position,
          place,
          operation,
          target,
          request: { ok: true, request },
          queued: null,
        }
      }
    },
  }
}

/** `waitMs`: for the program that writes to a pipe. */
const importLimits = { maxBytes: 4e9, waitMs: 30_000 }

/**
 * Lets an import be read more than once. A regular file is read in place; standard input, a pipe or
 * the CSV of a workbook is first copied to an unnamed temporary file. `source`: a path or a stream.
 * `folder`: where it is copied to. Throws UserError if it cannot be read.
 */
export async function openImportBuffer(
  source: string | AsyncIterable<Uint8Array>,
  folder = tmpdir(),
  limits = importLimits,
) {
  const given = await (typeof source === 'string'
    ? openFile(source, folder, limits)
    : copyToTempFile(source, folder, limits))
  const csv = await closeOnError(given, () => copyWorkbook(given, folder, limits))
  const file = csv ?? given
  return closeOnError(file, async () => {
    const hash = createHash('sha256')
    let head: Uint8Array = Buffer.alloc(0)
    for await (const chunk of readFromStart(file)) {
      hash.update(chunk)
      if (head.length === 0) head = chunk
    }
    const digest = hash.digest('hex')
    return {
      /**
       * Reads all bytes from the start. Throws UserError after the last byte if they differ from
       * the first read, so callers must commit only after the end.
       */
      read: () => verifyUnchanged(readFromStart(file), digest),
      /** The first bytes, which show how the file is written. */
      head,
      /** What is read is its CSV. */
      isWorkbook: csv !== null,
      /** SHA-256 in hex. */
      digest,
      /** Call it when done, also after an error. */
      close: () => file.close(),
    }
  })
}

/**
 * Keeps the file open, so that it cannot be replaced between reads. A pipe is copied like standard
 * input; a device, which may have no end, is refused.
 */
async function openFile(
  path: string,
  folder: string,
  limits: typeof importLimits,
): Promise<FileHandle> {
  // Opening a pipe that nobody writes to would wait. Windows has no such flag.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((cause) =>
    throwUserError(`read ${path}`, cause, 'check the path and its permissions'),
  )
  return closeOnError(file, async () => {
    const stats = await file.stat()
    if (stats.isDirectory())
      return throwUserError(`read ${path}`, new Error('it is a folder'), 'name a file in it')
    if (stats.isFile()) {
      if (stats.size > limits.maxBytes) throw tooLargeError(limits)
      return file
    }
    if (!stats.isFIFO())
      return throwUserError(`read ${path}`, new Error('it is not a regular file'), 'name a file')
    const copy = await copyToTempFile(readPipe(file, path, limits), folder, limits)
    await file.close()
    return copy
  })
}

/** Without waiting in a read, so that a pipe without a writer ends. */
async function* readPipe(
  file: FileHandle,
  path: string,
  { waitMs }: typeof importLimits,
): AsyncGenerator<Uint8Array> {
  const waitsUntil = performance.now() + waitMs
  let hasWriter = false
  for (;;) {
    const part = Buffer.allocUnsafe(chunkSize)
    const bytes = await file.read(part).then(({ bytesRead }) => bytesRead, nullIfNothingYet)
    if (bytes === 0 && hasWriter) return
    if (bytes === 0 && performance.now() >= waitsUntil)
      throwUserError(
        `read ${path}`,
        new Error('no program writes to this pipe'),
        'start that program, and try again',
      )
    if (bytes !== 0) hasWriter = true
    if (bytes === 0 || bytes === null) await sleep(20)
    else yield part.subarray(0, bytes)
  }
}

/** A program has opened the pipe, and has not written yet. */
function nullIfNothingYet(error: unknown): null {
  if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return null
  throw error
}

function tooLargeError({ maxBytes }: typeof importLimits): UserError {
  return fileError(`it is larger than ${formatBytes(maxBytes)}`, 'split it into several')
}

async function copyToTempFile(
  source: AsyncIterable<Uint8Array>,
  folder: string,
  limits: typeof importLimits,
): Promise<FileHandle> {
  const throwCopyError = (cause: unknown) =>
    throwUserError(
      `buffer the import in ${folder}`,
      cause,
      'free disk space, or set TMPDIR to another folder',
    )
  const file = await createUnnamedFile(folder).catch(throwCopyError)
  return closeOnError(file, async () => {
    let size = 0
    for await (const chunk of source) {
      size += chunk.length
      if (size > limits.maxBytes) throw tooLargeError(limits)
      await file.writeFile(chunk).catch(throwCopyError)
    }
    return file
  })
}

/** The workbook as CSV; null: the file is none. */
async function copyWorkbook(
  file: FileHandle,
  folder: string,
  limits: typeof importLimits,
): Promise<FileHandle | null> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of readFromStart(file)) {
    if (parts.length === 0 && !isWorkbook(part)) return null
    parts.push(part)
    size += part.length
    if (size > maxWorkbookBytes) break
  }
  if (parts.length === 0) return null
  const csv = await toCsv(Buffer.concat(parts))
  const copy = await copyToTempFile(Readable.from([csv]), folder, limits)
  await file.close()
  return copy
}

async function* verifyUnchanged(
  bytes: AsyncIterable<Buffer>,
  digest: string,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  for await (const chunk of bytes) {
    hash.update(chunk)
    yield chunk
  }
  if (hash.digest('hex') !== digest) throw changedFileError()
}

export function changedFileError(): UserError {
  const next = 'import it again when no program writes to it; nothing was queued'
  return fileError('it changed while it was read', next, 1)
}

async function closeOnError<T>(file: FileHandle, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    await file.close()
    throw cause
  }
}

function throwUserError(what: string, cause: unknown, next: string): never {
  const why =
    systemErrorText(cause)?.why ?? (cause instanceof Error ? cause.message : String(cause))
  throw new UserError({ what: `cannot ${what}`, why, next, exitCode: 2 }, { cause })
}
