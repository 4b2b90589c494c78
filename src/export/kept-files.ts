/**
 * Whether a file may be written: never the warehouse, what is beside it, its configuration, or what
 * the same command reads, by whatever path or link. A file that does not exist yet and would become
 * one of these is none that may be written, either.
 */
import { type BigIntStats, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Config } from '../config/config.ts'
import { UserError } from '../values/user-error.ts'
import { parseDatabaseUrl } from '../warehouse/location.ts'
import { databaseNamedBy, filesOfWarehouse, resolveLinks } from '../warehouse/warehouse-files.ts'

/** `why`: such as `it is the warehouse`. `besideWhy`: of what would be beside a link to it. */
type KeptFile = { readonly path: string; readonly why: string; readonly besideWhy?: string }
export type KeptFiles = readonly KeptFile[]

/** What every command keeps. `also`: what this one reads. */
export function keptFiles(
  config: Pick<Config, 'databaseUrl' | 'files'>,
  also: KeptFiles = [],
): KeptFiles {
  const { database, beside } = filesOfWarehouse(parseDatabaseUrl(config.databaseUrl))
  const besideWhy = 'it belongs to the warehouse'
  const ofWarehouse = beside.map((path) => ({ path, why: besideWhy }))
  const ofConfiguration = config.files.map((path) => ({
    path,
    why: 'it belongs to the configuration',
  }))
  const warehouse =
    database === null ? [] : [{ path: database, why: 'it is the warehouse', besideWhy }]
  return [...warehouse, ...ofWarehouse, ...ofConfiguration, ...also]
}

/** An SQLite file, and what would be beside it. */
export function filesOfDatabase(path: string): readonly string[] {
  const { database, beside } = filesOfWarehouse(parseDatabaseUrl(`sqlite:${path}`))
  return [database ?? [], ...beside].flat()
}

/** `path` null: standard input, which a shell may take from a file. */
export function importedFile(path: string | null): KeptFile {
  return { path: path ?? '/dev/stdin', why: 'it is the file that is imported, which would be lost' }
}

/** Another output of the same command. */
export const otherOutput = (path: string): KeptFile => ({
  path,
  why: 'another option names this file, too',
})

/** Throws UserError. */
export function rejectKept(path: string, kept: KeptFiles): void {
  const why = keptBecause(path, kept)
  if (why === undefined) return
  throw new UserError({ what: `cannot write ${path}`, why, next: 'name another file' })
}

/** Undefined: it may be written. */
function keptBecause(path: string, kept: KeptFiles): string | undefined {
  const found = kept.find((file) => isSameFile(path, file.path))
  if (found !== undefined) return found.why
  const database = databaseNamedBy(path)
  if (database === null) return undefined
  return kept.find((file) => file.besideWhy !== undefined && isSameFile(database, file.path))
    ?.besideWhy
}

/** By its number, which all links to it share; if one does not exist, by its name in its folder. */
function isSameFile(a: string, b: string): boolean {
  const first = fileAt(a)
  const second = fileAt(b)
  if (first !== null && second !== null) return isSame(first, second)
  const target = resolveLinks(a)
  const other = resolveLinks(b)
  if (foldedName(target) !== foldedName(other)) return false
  const folder = statOf(dirname(target))
  const otherFolder = statOf(dirname(other))
  if (folder === null || otherFolder === null) return dirname(target) === dirname(other)
  return isSame(folder, otherFolder)
}

const isSame = (a: BigIntStats, b: BigIntStats): boolean => a.dev === b.dev && a.ino === b.ino

/** What would be written over. Null: there is nothing, or it cannot be reached. */
export const fileAt = (path: string): BigIntStats | null =>
  statOf(path) ?? statOf(resolveLinks(path))

/** Null: there is none, or it cannot be reached. */
function statOf(path: string): BigIntStats | null {
  try {
    return statSync(path, { bigint: true })
  } catch {
    return null
  }
}

/** Some file systems tell neither upper and lower case nor the ways to write an accent apart. */
const foldedName = (path: string): string => basename(path).normalize('NFC').toLowerCase()
