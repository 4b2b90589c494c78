/** Looks for erased values in the SQLite file, its log, and whatever is beside them. */
import { open, readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { createFinder } from './core/byte-finder.ts'
import type { Piece } from './core/remains.ts'

/** The file and those whose names begin with its name: a copy of it is often one of them. */
export async function filesBeside(path: string): Promise<readonly string[]> {
  const names = await readdir(dirname(path)).catch(() => [])
  return names
    .filter((name) => name.startsWith(basename(path)))
    .map((name) => join(dirname(path), name))
}

/** Those that are files: reading from anything else may never end. */
export async function searchFiles(paths: readonly string[], pieces: readonly Piece[]) {
  const find = createFinder(pieces.map(({ text }) => text))
  const searched: { readonly path: string; readonly values: number | null }[] = []
  for (const path of paths) {
    const isFile = await stat(path).then(
      (found) => found.isFile(),
      () => false,
    )
    if (!isFile) continue
    const found = new Set<number>()
    const onFound = (piece: number) => {
      found.add(pieces[piece]?.value ?? -1)
      return false
    }
    const isRead = await readFile(path, (data) => find(data, onFound))
    searched.push({ path, values: isRead ? found.size : null })
  }
  return searched
}

/** In bytes. A text may lie across two chunks. */
const chunkBytes = 4 * 2 ** 20
const overlap = 1024

async function readFile(path: string, onChunk: (data: Uint8Array) => void): Promise<boolean> {
  const file = await open(path).catch(() => null)
  try {
    const buffer = new Uint8Array(chunkBytes)
    for (let position = 0; file !== null; position += chunkBytes - overlap) {
      const { bytesRead } = await file.read(buffer, 0, chunkBytes, position)
      onChunk(buffer.subarray(0, bytesRead))
      if (bytesRead < chunkBytes) return true
    }
    return false
  } catch {
    return false
  } finally {
    await file?.close()
  }
}
