/** The bytes of a file to import, which can be read more than once. */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { chunkSize, createUnnamedFile, readFromStart } from '../export/output-file.ts'
import { formatBytes } from '../values/format.ts'
import { errorCode, systemErrorText, UserError } from '../values/user-error.ts'
import { fileError } from './file-form.ts'
import { isWorkbook, maxWorkbookBytes, toCsv } from './workbook.ts'

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
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((cause) => {
    throw unreadableError(`read ${path}`, cause, 'check the path and its permissions')
  })
  return closeOnError(file, async () => {
    const stats = await file.stat()
    if (stats.isDirectory())
      throw unreadableError(`read ${path}`, 'it is a folder', 'name a file in it')
    if (stats.isFile()) {
      if (stats.size > limits.maxBytes) throw tooLargeError(limits)
      return file
    }
    if (!stats.isFIFO())
      throw unreadableError(`read ${path}`, 'it is not a regular file', 'name a file')
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
      throw unreadableError(
        `read ${path}`,
        'no program writes to this pipe',
        'start that program, and try again',
      )
    if (bytes !== 0) hasWriter = true
    if (bytes === 0 || bytes === null) await sleep(20)
    else yield part.subarray(0, bytes)
  }
}

/** A program has opened the pipe, and has not written yet. */
function nullIfNothingYet(error: unknown): null {
  if (errorCode(error) === 'EAGAIN') return null
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
  const throwCopyError = (cause: unknown) => {
    const next = 'free disk space, or set TMPDIR to another folder'
    throw unreadableError(`buffer the import in ${folder}`, cause, next)
  }
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

/** `cause`: what was thrown, or why in words. */
function unreadableError(what: string, cause: unknown, next: string): UserError {
  const why =
    systemErrorText(cause)?.why ?? (cause instanceof Error ? cause.message : String(cause))
  return new UserError({ what: `cannot ${what}`, why, next }, { cause })
}
