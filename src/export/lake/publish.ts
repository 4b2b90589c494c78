/** Shows what a run has written, and removes what is no longer part of the lake. */
import { randomUUID } from 'node:crypto'
import {
  copyFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { daySeconds, type EpochMs } from '../../values/time.ts'
import { replaceFile } from '../../warehouse/replace-file.ts'
import { type LakeManifest, manifestName, versionsFolder, versionsOf } from './manifest.ts'

/** The files first, the manifest last. */
export function publish(
  folder: string,
  manifest: LakeManifest,
  earlier: LakeManifest | null,
): void {
  const partitions = manifest.objects.flatMap((object) => object.partitions)
  for (const { path, current } of partitions) showAs(folder, path, current)
  const shown = new Set(partitions.map(({ current }) => current))
  for (const { current } of earlier?.objects.flatMap((object) => object.partitions) ?? []) {
    if (shown.has(current)) continue
    const path = join(folder, current)
    rmSync(path, { force: true })
    removeEmptyFolder(dirname(path))
    removeEmptyFolder(dirname(dirname(path)))
  }
  replaceFile(join(folder, manifestName), `${JSON.stringify(manifest, null, 1)}\n`)
}

/** A second name of the same file; a copy where the file system has no links. */
function showAs(folder: string, path: string, current: string): void {
  const version = join(folder, path)
  const shown = join(folder, current)
  const found = statSync(shown, { throwIfNoEntry: false })
  const file = statSync(version)
  if (found?.ino === file.ino && found.dev === file.dev) return
  mkdirSync(dirname(shown), { recursive: true })
  const added = join(folder, versionsFolder, `${randomUUID()}.partial`)
  try {
    linkSync(version, added)
  } catch {
    copyFileSync(version, added)
  }
  renameSync(added, shown)
}

function removeEmptyFolder(path: string): void {
  try {
    rmdirSync(path)
  } catch {
    // Other files are there.
  }
}

/**
 * Removes the files that the manifest no longer names. Readers of an earlier manifest have a day to
 * finish, unless the file may have what was erased or cleaned since.
 */
export function removeUnnamed(
  folder: string,
  manifest: LakeManifest,
  earlier: LakeManifest | null,
  now: EpochMs,
): void {
  const named = pathsOf(manifest)
  const justReplaced = pathsOf(earlier)
  for (const path of filesIn(join(folder, versionsFolder))) {
    const name = relative(folder, path).split(sep).join('/')
    if (named.has(name)) continue
    const isOutdated = !name.startsWith(`${versionsOf(manifest.removals)}/`)
    const isUnfinished = !name.endsWith('.parquet')
    const isOld = now - statSync(path).mtimeMs > daySeconds * 1000
    if (isOutdated || isUnfinished || (isOld && !justReplaced.has(name))) rmSync(path)
    // Its day begins now, not when it was written.
    else if (justReplaced.has(name)) utimesSync(path, now / 1000, now / 1000)
  }
}

function pathsOf(manifest: LakeManifest | null): ReadonlySet<string> {
  const objects = manifest?.objects ?? []
  return new Set(objects.flatMap(({ partitions }) => partitions.map(({ path }) => path)))
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  )
}
