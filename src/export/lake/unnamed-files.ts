/** Removes the files of a lake that its manifest no longer names. */
import { readdirSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { daySeconds, type EpochMs } from '../../values/time.ts'
import { type LakeManifest, versionsFolder, versionsOf } from './manifest.ts'

/**
 * Who reads by an earlier manifest has a day to end, unless the file may have what was erased or
 * cleaned since.
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
