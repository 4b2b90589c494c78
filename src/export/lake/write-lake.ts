/**
 * Tables and views as Parquet files by month, of which only those that changed are written again.
 * Each file stands under two names: one that never changes, which the manifest names, and one that
 * is the same after every run, where programs look for it. So a reader that follows the manifest sees
 * one moment, and a reader of a folder sees each month once, whenever this process is killed.
 */
import { createHash, randomUUID } from 'node:crypto'
import { accessSync, constants, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { sourceOf, type TableSpec, tables } from '../../../schema/tables.ts'
import type { ProjectId } from '../../values/project.ts'
import { type EpochMs, type Ms, rfc3339 } from '../../values/time.ts'
import { UserError } from '../../values/user-error.ts'
import { lockFile } from '../../warehouse/sqlite-file.ts'
import {
  allRows,
  type ByteOutput,
  type ExportObject,
  findObjects,
  selectRows,
  usualTimeColumn,
} from '../core/selection.ts'
import type { ExportDeps } from '../export-objects.ts'
import { type KeptFiles, rejectKept } from '../kept-files.ts'
import { createOutputFile, explainErrors } from '../output-file.ts'
import type { ExportSnapshot } from '../sql/snapshot.ts'
import { createParquetWriter } from '../writers/parquet-writer.ts'
import {
  type LakeManifest,
  type LakeObject,
  type LakePartition,
  manifestName,
  readManifestOf,
  versionsFolder,
  versionsOf,
} from './manifest.ts'
import { columnsOf, newColumns, type PartitionPlan, planPartitions } from './partitions.ts'
import { publish, removeUnnamed } from './publish.ts'

export type LakeRequest = {
  readonly folder: string
  /** Names or patterns; none: those that the lake has, or all that is mirrored. */
  readonly objects: readonly string[]
  /** Whether what the lake has beside `objects` leaves it. */
  readonly isWhole: boolean
  readonly projectId: ProjectId | null
  readonly kept: KeptFiles
}

export type LakeReport = {
  readonly folder: string
  readonly objects: readonly {
    readonly object: string
    readonly rows: number
    readonly partitions: number
    /** Written again, or for the first time. */
    readonly written: number
    readonly bytes: number
    /** Columns that the lake did not have before. */
    readonly newColumns: readonly string[]
  }[]
  readonly tookMs: Ms
}

type LakeDeps = Pick<ExportDeps, 'onProgress' | 'signal'> & {
  readonly snapshot: ExportSnapshot
  readonly now: () => EpochMs
}

/** What the service's rows are in, and the history that it does not keep. */
export const mirroredObjects: readonly string[] = Object.entries<TableSpec>(tables)
  .filter(([name, { notInLake }]) => sourceOf(name) === 'service' && notInLake === undefined)
  .map(([name]) => name)

export class LakeBusyError extends UserError {}

/** Throws UserError; then the lake is as it was. */
export async function writeLake(
  request: LakeRequest,
  deps: LakeDeps,
): Promise<Omit<LakeReport, 'tookMs'>> {
  const { folder, kept } = request
  rejectKept(join(folder, manifestName), kept)
  await explainErrors(folder, async () => {
    mkdirSync(join(folder, versionsFolder), { recursive: true })
    accessSync(folder, constants.W_OK)
  })
  const release = lockFile(join(folder, '.lock'), folder)
  if (release === null)
    throw new LakeBusyError({
      what: `cannot write the lake ${folder}`,
      why: 'another process is writing it',
      next: 'wait until it has ended, and run it again',
      exitCode: 1,
    })
  try {
    return await writeUnderLock(request, deps)
  } finally {
    release()
  }
}

async function writeUnderLock(request: LakeRequest, deps: LakeDeps) {
  const { folder, projectId } = request
  const { snapshot } = deps
  const earlier = readManifestOf(folder, projectId)
  const now = deps.now()
  const removals = await snapshot.readRemovals()
  const hasRemoved = earlier !== null && earlier.removals !== removals
  const existing = await snapshot.listObjects()
  const names = new Set(existing.map(({ name }) => name))
  const ofLake = earlier?.objects.map(({ object }) => object).filter((name) => names.has(name))
  const wanted = [...(request.isWhole ? [] : (ofLake ?? [])), ...request.objects]
  const chosen = wanted.length > 0 ? wanted : mirroredObjects.filter((name) => names.has(name))
  const objects: LakeObject[] = []
  const reports: LakeReport['objects'][number][] = []
  for (const name of findObjects(chosen, existing)) {
    const object = await snapshot.describe(name)
    const before = earlier?.objects.find((known) => known.object === name.name) ?? null
    const known = before !== null && hasRemoved ? withoutStates(before) : before
    const versions = versionsOf(removals)
    const { lakeObject, written } = await writeObject({ ...request, versions }, deps, object, known)
    objects.push(lakeObject)
    reports.push({
      object: name.name,
      rows: lakeObject.rows,
      partitions: lakeObject.partitions.length,
      written,
      bytes: lakeObject.partitions.reduce((sum, { bytes }) => sum + bytes, 0),
      newColumns: newColumns(object, before),
    })
  }
  const manifest: LakeManifest = {
    format: 'deskmirror-lake-1',
    writtenAt: rfc3339(Math.floor(now / 1000)),
    project: projectId,
    removals,
    objects,
  }
  await explainErrors(folder, async () => publish(folder, manifest, earlier))
  removeUnnamed(folder, manifest, earlier, now)
  return { folder, objects: reports }
}

/** Rows that were cleaned do not tell of it. */
function withoutStates(object: LakeObject): LakeObject {
  return { ...object, partitions: object.partitions.map((part) => ({ ...part, state: null })) }
}

async function writeObject(
  request: LakeRequest & { readonly versions: string },
  deps: LakeDeps,
  object: ExportObject,
  earlier: LakeObject | null,
) {
  const { folder, projectId } = request
  const { snapshot, onProgress, now } = deps
  const selection = selectRows(object, { ...allRows, projectId })
  const timeColumn = usualTimeColumn(object)?.name ?? null
  const seconds = Math.floor(now() / 1000)
  const months = await snapshot.readMonths(selection, timeColumn, seconds)
  const plans = planPartitions(selection, timeColumn, months, earlier)
  const total = plans.reduce((sum, { isUnchanged, rows }) => sum + (isUnchanged ? 0 : rows), 0)
  let rows = 0
  let written = 0
  const partitions: LakePartition[] = []
  for (const plan of plans) {
    const { previous, isUnchanged } = plan
    if (previous !== null && isUnchanged && isThere(folder, previous)) {
      partitions.push(previous)
      continue
    }
    const onRows = (count: number) => onProgress({ object: object.name, rows: rows + count, total })
    const partition = await writePartition(request, deps, plan, onRows)
    if (partition.path !== previous?.path) written += 1
    partitions.push(partition)
    rows += plan.rows
  }
  const lakeObject: LakeObject = {
    object: object.name,
    timeColumn,
    columns: columnsOf(object),
    rows: partitions.reduce((sum, partition) => sum + partition.rows, 0),
    partitions,
  }
  return { lakeObject, written }
}

/** The file that there was, if the new one would be the same. */
async function writePartition(
  { folder, kept, versions }: LakeRequest & { readonly versions: string },
  { snapshot, signal }: LakeDeps,
  { month, place, selection, rows: expected, state, previous }: PartitionPlan,
  onRows: (rows: number) => void,
): Promise<LakePartition> {
  const path = `${versions}/${place}/${randomUUID()}.parquet`
  const file = await createOutputFile(join(folder, path), { overwrite: false, kept })
  const hash = createHash('sha256')
  const output: ByteOutput = {
    write: (bytes) => {
      hash.update(bytes)
      return file.output.write(bytes)
    },
  }
  try {
    const writer = createParquetWriter(selection, output)
    let rows = 0
    for await (const batch of snapshot.readRows(selection)) {
      if (signal.aborted) throw interrupted(folder)
      await writer.write(batch)
      rows += batch.length
      onRows(rows)
    }
    await writer.end()
    if (rows !== expected) throw otherTimes(selection.object.name, month)
    const sha256 = hash.digest('hex')
    if (previous?.sha256 === sha256 && isThere(folder, previous)) return { ...previous, state }
    const bytes = await file.publish()
    return { month, path, current: `${place}/data.parquet`, rows, bytes, sha256, state }
  } finally {
    await file.discard()
  }
}

function isThere(folder: string, { path, bytes }: LakePartition): boolean {
  return statSync(join(folder, path), { throwIfNoEntry: false })?.size === bytes
}

function interrupted(folder: string): UserError {
  return new UserError({
    what: `the lake ${folder} was not written`,
    why: 'it was asked to stop',
    next: 'run it again: the lake is as it was',
    exitCode: 1,
  })
}

function otherTimes(object: string, month: string | null): UserError {
  return new UserError({
    what: `cannot divide ${object} into months`,
    why: `times of ${month ?? 'no month'} have different forms`,
    next: 'correct them to forms like 2026-01-31T08:00:00Z, or leave the object out',
  })
}
