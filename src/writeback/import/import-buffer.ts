/**
 * An import's bytes, to be read more than once. A file is read where it is; what can be read only once (standard input,
 * a pipe) is written to a file without a name first. Every reading must give the same bytes, or it ends with an error.
 */
import { createHash } from 'node:crypto'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemErrorText } from '../../core/system-error-text.ts'
import { UserError } from '../../core/user-error.ts'

export type ImportBuffer = {
  /**
   * From the first byte, whenever it is called. Throws UserError behind the last byte if they were others than at first:
   * whoever stores what was read commits only after the end.
   */
  readonly read: () => AsyncGenerator<Buffer>
  /** SHA-256 of all bytes, in hex. */
  readonly digest: string
  /** Physical lines, blank ones and a header included. */
  readonly lines: number
  /** To be called at the end, and after an error too. */
  readonly close: () => Promise<void>
}

/** `source`: a path, or a stream that can be read once. `folder`: where a stream is kept meanwhile. */
export async function openImportBuffer(source: string | AsyncIterable<Uint8Array>, folder = tmpdir()): Promise<ImportBuffer> {
  const file = await (typeof source === 'string' ? openFile(source, folder) : copyToTempFile(source, folder))
  return closeOnError(file, async () => {
    const { digest, lines } = await measureBytes(readFromStart(file))
    return { read: () => verifyUnchanged(readFromStart(file), digest), digest, lines, close: () => file.close() }
  })
}

/** The file itself, so that nobody can put another one into its place. A named pipe is copied like standard input. */
async function openFile(path: string, folder: string): Promise<FileHandle> {
  const file = await open(path).catch((cause) => throwUserError(`read ${path}`, cause, 'check the path and its permissions'))
  return closeOnError(file, async () => {
    const stats = await file.stat()
    if (stats.isDirectory()) return throwUserError(`read ${path}`, new Error('it is a folder'), 'name a file in it')
    if (stats.isFile()) return file
    const copy = await copyToTempFile(file.createReadStream({ autoClose: false }), folder)
    await file.close()
    return copy
  })
}

/** Its name is removed before the first byte is written: however this process ends, nothing is left behind. */
async function copyToTempFile(source: AsyncIterable<Uint8Array>, folder: string): Promise<FileHandle> {
  const throwNoRoom = (cause: unknown) =>
    throwUserError(`keep the import in ${folder}`, cause, 'make room there, or set TMPDIR to another folder')
  const file = await createUnnamedFile(folder).catch(throwNoRoom)
  return closeOnError(file, async () => {
    for await (const chunk of source) await file.writeFile(chunk).catch(throwNoRoom)
    return file
  })
}

async function createUnnamedFile(folder: string): Promise<FileHandle> {
  const directory = await mkdtemp(join(folder, 'deskmirror-'))
  return open(join(directory, 'import'), 'wx+', 0o600).finally(() => rm(directory, { recursive: true }))
}

const chunkSize = 64 * 1024

/** A file's bytes. Each chunk is a buffer of its own, as lines are cut out of it. */
async function* readFromStart(file: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(chunkSize), 0, chunkSize, position)
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
    position += bytesRead
  }
}

async function measureBytes(bytes: AsyncIterable<Buffer>): Promise<{ digest: string; lines: number }> {
  const hash = createHash('sha256')
  let [lines, last] = [0, lf]
  for await (const chunk of bytes) {
    hash.update(chunk)
    for (let at = chunk.indexOf(lf); at >= 0; at = chunk.indexOf(lf, at + 1)) lines += 1
    last = chunk.at(-1) ?? last
  }
  return { digest: hash.digest('hex'), lines: last === lf ? lines : lines + 1 }
}

const lf = 0x0a

async function* verifyUnchanged(bytes: AsyncIterable<Buffer>, digest: string): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  for await (const chunk of bytes) {
    hash.update(chunk)
    yield chunk
  }
  if (hash.digest('hex') !== digest) {
    throw new UserError({
      what: 'cannot import the file',
      why: 'it changed while it was read',
      next: 'import it again when nobody writes to it; nothing of it was queued',
      exitCode: 1,
    })
  }
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
