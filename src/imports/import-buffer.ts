/**
 * Lets an import be read more than once. A regular file is read in place; standard input or a pipe is first copied to an
 * unnamed temporary file. Each read checks that the bytes have not changed.
 */
import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { createUnnamedFile, readFromStart } from '../export/output-file.ts'
import { systemErrorText, UserError } from '../values/user-error.ts'

export type ImportBuffer = Awaited<ReturnType<typeof openImportBuffer>>

/** `source`: a path or a stream. `folder`: where a stream is copied to. Throws UserError if it cannot be read. */
export async function openImportBuffer(source: string | AsyncIterable<Uint8Array>, folder = tmpdir()) {
  const file = await (typeof source === 'string' ? openFile(source, folder) : copyToTempFile(source, folder))
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
       * Reads all bytes from the start. Throws UserError after the last byte if they differ from the first read, so
       * callers must commit only after the end.
       */
      read: () => verifyUnchanged(readFromStart(file), digest),
      /** The first bytes, which show how the file is written. */
      head,
      /** SHA-256 in hex. */
      digest,
      /** Call it when done, also after an error. */
      close: () => file.close(),
    }
  })
}

/** Keeps the file open, so that it cannot be replaced between reads. A named pipe is copied like standard input. */
async function openFile(path: string, folder: string): Promise<FileHandle> {
  const file = await open(path).catch((cause) =>
    throwUserError(`read ${path}`, cause, 'check the path and its permissions'),
  )
  return closeOnError(file, async () => {
    const stats = await file.stat()
    if (stats.isDirectory()) return throwUserError(`read ${path}`, new Error('it is a folder'), 'name a file in it')
    if (stats.isFile()) return file
    const copy = await copyToTempFile(file.createReadStream({ autoClose: false }), folder)
    await file.close()
    return copy
  })
}

async function copyToTempFile(source: AsyncIterable<Uint8Array>, folder: string): Promise<FileHandle> {
  const throwCopyError = (cause: unknown) =>
    throwUserError(`buffer the import in ${folder}`, cause, 'free disk space, or set TMPDIR to another folder')
  const file = await createUnnamedFile(folder).catch(throwCopyError)
  return closeOnError(file, async () => {
    for await (const chunk of source) await file.writeFile(chunk).catch(throwCopyError)
    return file
  })
}

async function* verifyUnchanged(bytes: AsyncIterable<Buffer>, digest: string): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  for await (const chunk of bytes) {
    hash.update(chunk)
    yield chunk
  }
  if (hash.digest('hex') !== digest) throw changedFileError()
}

export function changedFileError(): UserError {
  return new UserError({
    what: 'cannot import the file',
    why: 'it changed while it was read',
    next: 'import it again when no program writes to it; nothing was queued',
    exitCode: 1,
  })
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
  const why = systemErrorText(cause)?.why ?? (cause instanceof Error ? cause.message : String(cause))
  throw new UserError({ what: `cannot ${what}`, why, next, exitCode: 2 }, { cause })
}
