/** Reads a file of the configuration: `.env`, `deskmirror.yaml`, the file of a key. */
import { accessSync, closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { decodeFileText } from '../values/file-text.ts'
import { errorCode, systemErrorText } from '../values/user-error.ts'

/** Much more than any configuration has: a device would fill the memory. */
const configurationBytes = 16 * 2 ** 20

/** Its writer may take a while. */
export const isStandardInput = (path: string): boolean =>
  ['/dev/stdin', '/dev/fd/0', '/proc/self/fd/0'].includes(resolve(path))

/**
 * Null if there is no such file; an error says why it cannot be read. A pipe would be waited for
 * without end, so it must be standard input.
 */
export function readTextFile(path: string, maxBytes = configurationBytes): string | null | Error {
  try {
    return decodeFileText(readBytes(path, maxBytes))
  } catch (error) {
    if (!(error instanceof Error)) throw error
    if (!('code' in error)) return error
    if (error.code === 'ENOENT') return null
    const closed = foldersAbove(path).find((folder) => !canEnter(folder))
    if (closed !== undefined) return new Error(`this user may not enter the folder ${closed}`)
    return new Error(systemErrorText(error)?.why ?? String(error.code))
  }
}

/** The outermost first. */
function foldersAbove(path: string): readonly string[] {
  const folder = dirname(path)
  return folder === path ? [] : [...foldersAbove(folder), folder]
}

/** Whether this user may use what is in the folder. */
export function canEnter(folder: string): boolean {
  try {
    accessSync(folder, constants.X_OK)
    return true
  } catch (error) {
    return !['', 'EACCES'].includes(errorCode(error))
  }
}

function readBytes(path: string, maxBytes: number): Uint8Array {
  if (isStandardInput(path)) return readAll(0, maxBytes)
  // Opening a pipe that nobody writes to would wait. Windows has no such flag.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const stats = fstatSync(file)
    if (stats.isDirectory()) throw new Error('it is a folder')
    if (!stats.isFile()) throw new Error('it is not a regular file')
    return readAll(file, maxBytes)
  } finally {
    closeSync(file)
  }
}

function readAll(file: number, maxBytes: number): Uint8Array {
  const parts: Uint8Array[] = []
  let size = 0
  for (;;) {
    const part = Buffer.alloc(64 * 1024)
    const bytes = readSome(file, part)
    if (bytes === 0) return Buffer.concat(parts)
    size += bytes
    if (size > maxBytes) throw new Error(`it is larger than ${maxBytes / 2 ** 20} MB`)
    parts.push(part.subarray(0, bytes))
  }
}

/** Standard input may be a socket, which has nothing to read yet. Nothing else is waited for. */
function readSome(file: number, part: Buffer): number {
  for (;;) {
    try {
      return readSync(file, part)
    } catch (error) {
      if (errorCode(error) !== 'EAGAIN' || file !== 0) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
    }
  }
}
