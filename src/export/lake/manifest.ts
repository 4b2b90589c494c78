/** What a lake holds: a document that is written last, so that who follows it sees one moment. */
import { readFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { z } from 'zod'
import type { ConfiguredLake } from '../../config/lakes.ts'
import { tryParseJson } from '../../values/json.ts'
import type { ProjectId } from '../../values/project.ts'
import { errorCode, errorText, UserError } from '../../values/user-error.ts'
import type { ExportType } from '../core/selection.ts'

export const manifestName = 'manifest.json'
/** Its name begins as those do that programs leave out when they read a folder. */
export const versionsFolder = '_versions'
/** `removals`: as the manifest has it. Files of earlier ones may have what was removed since. */
export const versionsOf = (removals: string) => `${versionsFolder}/${removals.slice(0, 8)}`

/** Whoever can write the manifest must not choose which files are removed elsewhere. */
const pathWithin = z
  .string()
  .refine((path) => !isAbsolute(path) && !path.split(/[/\\]/).includes('..'))

const partitionSchema = z.object({
  /** `2026-11`, in UTC; null: rows without a time, or an object without months. */
  month: z.string().nullable(),
  /** A file that is never changed. Gone a day after no manifest names it any longer. */
  path: pathWithin,
  /** The same file where programs look for it: `messages/month=2026-11/data.parquet`. */
  current: pathWithin,
  rows: z.number(),
  bytes: z.number(),
  sha256: z.string(),
  /** What its rows tell of their change; null: only reading them all can show it. */
  state: z.string().nullable(),
})

const objectSchema = z.object({
  object: z.string(),
  /** By which it is divided into months; null: not at all. */
  timeColumn: z.string().nullable(),
  columns: z.array(z.object({ name: z.string(), type: z.custom<ExportType>() })),
  rows: z.number(),
  partitions: z.array(partitionSchema),
})

const manifestSchema = z.object({
  format: z.literal('deskmirror-lake-1'),
  /** The moment of the warehouse that all of it shows: RFC 3339. */
  writtenAt: z.string(),
  /** Null: all projects. */
  project: z.string().nullable(),
  /** Another text after an erasure, or after a change of `columns`. */
  removals: z.string(),
  objects: z.array(objectSchema),
})

export type LakePartition = z.infer<typeof partitionSchema>
export type LakeObject = z.infer<typeof objectSchema>
export type LakeManifest = z.infer<typeof manifestSchema>

/** Null: there is none yet. Throws UserError. */
export function readManifest(folder: string): LakeManifest | null {
  const path = join(folder, manifestName)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null
    throw refuse(path, errorText(error))
  }
  const manifest = manifestSchema.safeParse(tryParseJson(text))
  if (manifest.success) return manifest.data
  throw refuse(path, 'it is not a manifest that deskmirror has written')
}

/** Throws UserError, also if it is the lake of another project; null: of all of them. */
export function readManifestOf(folder: string, project: ProjectId | null): LakeManifest | null {
  const manifest = readManifest(folder)
  if (manifest === null || manifest.project === project) return manifest
  const has = manifest.project === null ? 'all projects' : manifest.project
  throw new UserError({
    what: `cannot continue the lake ${folder}`,
    why: `it has the rows of ${has}`,
    next: 'name another folder, or the project that it had before',
  })
}

/** A lake that the worker keeps, as its folder shows it. */
export type LakeStatus = {
  readonly folder: string
  /** The moment of the warehouse that it shows: RFC 3339; null = not written yet. */
  readonly writtenAt: string | null
  readonly objects: number
  readonly rows: number
  /** Why it cannot be continued. */
  readonly problem: string | null
}

export function readLakeStatus({
  folder,
  project,
}: Pick<ConfiguredLake, 'folder' | 'project'>): LakeStatus {
  const unread: LakeStatus = { folder, writtenAt: null, objects: 0, rows: 0, problem: null }
  try {
    const manifest = readManifestOf(folder, project?.projectId ?? null)
    if (manifest === null) return unread
    const { writtenAt, objects } = manifest
    const rows = objects.reduce((sum, object) => sum + object.rows, 0)
    return { ...unread, writtenAt, objects: objects.length, rows }
  } catch (error) {
    return { ...unread, problem: errorText(error) }
  }
}

function refuse(path: string, why: string): UserError {
  const next = 'name another folder, or remove this one and let it be written anew'
  return new UserError({ what: `cannot continue the lake at ${path}`, why, next })
}
