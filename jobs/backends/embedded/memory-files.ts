/** The files that PGlite brings for Postgres: one array of 6 MB in memory, of which a running Postgres needs little. */
import type { PGlite } from '@electric-sql/pglite'

/** The part of Emscripten's file system that is needed; PGlite has no types for it. */
export type MemoryFiles = {
  readonly readdir: (path: string) => string[]
  readonly stat: (path: string) => { readonly mode: number }
  readonly isDir: (mode: number) => boolean
  readonly readFile: (path: string) => Uint8Array
  readonly writeFile: (path: string, content: Uint8Array) => void
  readonly unlink: (path: string) => void
  readonly lookupPath: (path: string) => { readonly node: { readonly contents: Uint8Array<ArrayBuffer> } }
}

export function memoryFilesOf(database: PGlite): MemoryFiles {
  return database.Module.FS
}

/** Loaded when the first function in PL/pgSQL is called. */
const plpgsql = '/pglite/lib/postgresql/plpgsql.so'

/** Where the files are. The data is beside them, in a folder of the disk. */
const folders = ['/home', '/pglite/bin', '/pglite/icu', '/pglite/lib', '/pglite/share']

/**
 * Frees the array. The other files were for creating the data and for starting, or are for what the queue does not use:
 * named time zones, other encodings, collations, text search.
 */
export function releaseUnneededFiles(files: MemoryFiles): void {
  const { buffer } = files.lookupPath(plpgsql).node.contents
  const kept = files.readFile(plpgsql)
  for (const path of folders.flatMap((folder) => listFiles(files, folder))) files.unlink(path)
  files.writeFile(plpgsql, kept)
  // PGlite keeps a reference, so it would never be collected. What is transferred is gone at once.
  buffer.transfer(0)
}

function listFiles(files: MemoryFiles, folder: string): string[] {
  const names = files.readdir(folder).filter((name) => name !== '.' && name !== '..')
  return names
    .map((name) => `${folder}/${name}`)
    .flatMap((path) => (files.isDir(files.stat(path).mode) ? listFiles(files, path) : path))
}
