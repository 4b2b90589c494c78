/**
 * The files of a warehouse, by their names and whatever link leads to them, so that nothing else is
 * ever written over one.
 */
import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { errorCode } from '../values/user-error.ts'
import type { DatabaseLocation, SqliteLocation } from './location.ts'

/**
 * `sends`: what is known to be sent, outside of the warehouse. `worker`: the embedded queue's lock.
 */
const endings = {
  log: '-wal',
  index: '-shm',
  rollback: '-journal',
  sends: '-sends',
  worker: '-worker',
} as const

export const isInMemory = (path: string): boolean => path === '' || path.startsWith(':')

/** Beside the database itself and not a link to it: all who open it find the same file. */
export function sideFile(
  { path }: Pick<SqliteLocation, 'path'>,
  side: keyof typeof endings,
): string {
  return `${databaseFile(path)}${endings[side]}`
}

function databaseFile(path: string): string {
  return !isInMemory(path) && isLink(path) ? resolveLinks(path) : path
}

/** Beside the SQLite file, else in the working folder; null: in memory. `beside`: has its owner. */
export function sendsFile(
  location: DatabaseLocation,
): { readonly path: string; readonly beside: string } | null {
  if (location.kind === 'postgres') return { path: 'deskmirror-sends', beside: '.' }
  return isInMemory(location.path)
    ? null
    : { path: sideFile(location, 'sends'), beside: location.path }
}

/** `beside`: all others that belong to `database`, whether they exist or not. */
export function filesOfWarehouse(location: DatabaseLocation) {
  const sends = sendsFile(location)
  if (sends === null) return { database: null, beside: [] }
  if (location.kind === 'postgres')
    return { database: null, beside: [sends.path, ...certificateFiles(location.url)] }
  const database = databaseFile(location.path)
  return { database, beside: Object.values(endings).map((ending) => `${database}${ending}`) }
}

/** By its name: whoever opens a hard link to a database has its files beside the link. */
export function databaseNamedBy(path: string): string | null {
  const target = resolveLinks(path)
  const ending = Object.values(endings).find((end) => target.toLowerCase().endsWith(end))
  return ending === undefined ? null : target.slice(0, -ending.length)
}

/** `?sslkey=PATH` and the like. */
function certificateFiles(url: string): readonly string[] {
  const given = URL.parse(url)?.searchParams ?? new URLSearchParams()
  return ['sslcert', 'sslkey', 'sslrootcert'].flatMap((name) => given.get(name) ?? [])
}

/**
 * Without links, also of a file that does not exist, through a link to nothing, or a missing folder
 * and `..`: there may be a file, which the system finds only by this path.
 */
export function resolveLinks(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    const folder = dirname(path)
    if (errorCode(error) !== 'ENOENT' || folder === path) return resolve(path)
    const target = isLink(path) ? readlinkSync(path) : null
    const known =
      target === null
        ? join(resolveLinks(folder), basename(path))
        : resolve(resolveLinks(folder), target)
    return known === path ? path : resolveLinks(known)
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink()
  } catch {
    return false
  }
}
