/** Removes the files of a lake that its manifest no longer names. */
import { readdirSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { daySeconds, type EpochMs } from '../../values/time.ts'
import { type LakeManifest, versionsFolder } from './manifest.ts'

/**
 * Who reads by an earlier manifest has a day to end. `hasRemoved`: values were removed since, so
 * nothing remains.
 */
export function removeUnnamed(
  folder: string,
  manifest: LakeManifest,
  earlier: LakeManifest | null,
  { now, hasRemoved }: { readonly now: EpochMs; readonly hasRemoved: boolean },
): void {
  const named = pathsOf(manifest)
  const justReplaced = pathsOf(earlier)
  for (const path of filesIn(join(folder, versionsFolder))) {
    const name = relative(folder, path).split(sep).join('/')
    if (named.has(name)) continue
    const isUnfinished = !name.endsWith('.parquet')
    // Its day begins now, not when it was written.
    if (justReplaced.has(name) && !hasRemoved) utimesSync(path, now / 1000, now / 1000)
    else if (hasRemoved || isUnfinished || now - statSync(path).mtimeMs > daySeconds * 1000)
      rmSync(path)
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
