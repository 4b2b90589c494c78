/** Files that are written: one that gets its name when it is complete, and one without a name. */
import { randomUUID } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { type FileHandle, mkdir, mkdtemp, open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { systemErrorText, UserError } from '../values/user-error.ts'
import { resolveLinks } from '../warehouse/warehouse-files.ts'
import type { ByteOutput } from './core/selection.ts'
import { fileAt, type KeptFiles, rejectKept } from './kept-files.ts'

export type OutputFile = Awaited<ReturnType<typeof createOutputFile>>

/** `kept`: what is never written over, not even with `overwrite`. */
export type OutputOptions = { readonly overwrite: boolean; readonly kept: KeptFiles }

/** Throws UserError if the file may not be written. */
export function rejectOutput(path: string, { overwrite, kept }: OutputOptions): void {
  rejectKept(path, kept)
  const found = fileAt(path)
  if (found === null || (overwrite && found.isFile())) return
  const why = found.isFile() ? 'the file exists' : 'it exists and is not a file'
  const next = found.isFile()
    ? 'choose another name, or overwrite it with --force'
    : 'choose another name'
  throw new UserError({ what: `cannot write ${path}`, why, next })
}

/**
 * Until it is complete, it is a temporary file beside its name; a link stays, and leads to the
 * file. Creates missing folders. Throws UserError if the file may not be written, or cannot be
 * created.
 */
export async function createOutputFile(path: string, options: OutputOptions) {
  rejectOutput(path, options)
  const target = resolveLinks(path)
  const temporaryPath = join(
    dirname(target),
    `.${basename(target)}.${randomUUID().slice(0, 8)}.partial`,
  )
  const file = await explainErrors(path, async () => {
    await mkdir(dirname(target), { recursive: true })
    return open(temporaryPath, 'wx')
  })
  let isPublished = false
  const output: ByteOutput = { write: (bytes) => explainErrors(path, () => writeAll(file, bytes)) }
  return {
    path,
    /** An empty file in the same folder. */
    temporaryPath,
    output,
    /** Gives the file its name; returns its size in bytes. */
    publish: () =>
      explainErrors(path, async () => {
        await file.sync()
        await file.close()
        const { size } = await stat(temporaryPath)
        // What is there may have changed meanwhile.
        rejectOutput(path, options)
        await rename(temporaryPath, target)
        isPublished = true
        return size
      }),
    /** Removes what was not published. Call it when done, also after an error. */
    discard: async () => {
      if (isPublished) return
      await file.close().catch(() => {})
      await rm(temporaryPath, { force: true })
    },
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let from = 0; from < bytes.length; ) from += (await file.write(bytes, from)).bytesWritten
}

export function isFolder(path: string): boolean {
  return path.endsWith('/') || (existsSync(path) && statSync(path).isDirectory())
}

/** Throws UserError where the system says why a file or folder cannot be written. */
export async function explainErrors<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const text = systemErrorText(error)
    if (text === undefined) throw error
    throw new UserError({ what: `cannot write ${path}`, ...text })
  }
}

/** Its name is removed before the first byte, so nothing is left however the process ends. */
export async function createUnnamedFile(folder: string): Promise<FileHandle> {
  const directory = await mkdtemp(join(folder, 'deskmirror-'))
  return open(join(directory, 'unnamed'), 'wx+', 0o600).finally(() =>
    rm(directory, { recursive: true }),
  )
}

export const chunkSize = 64 * 1024

/** Allocates each chunk separately, as lines reference parts of it. */
export async function* readFromStart(file: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await file.read(
      Buffer.allocUnsafe(chunkSize),
      0,
      chunkSize,
      position,
    )
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
    position += bytesRead
  }
}
