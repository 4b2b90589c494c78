/** Runs `verify`, which changes nothing; `--json` also counts the rows of each day, and `--against` counts them again. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { dayColumn, type StreamName, streamNames, streamSpecs } from '../../schema/stream-specs.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import type { ExportColumn, ExportObject, ExportSnapshot } from '../export/export.ts'
import { withSnapshot } from '../export/sql/snapshot.ts'
import {
  compareDigests,
  createDayDigests,
  dayOf,
  digestOfDays,
  digestOfMirror,
  identityColumns,
} from '../mirror/core/day-digests.ts'
import type {
  CountedStream,
  DigestComparison,
  MirrorCount,
  SyncProgress,
  VerifyDocument,
  VerifyReport,
} from '../mirror/mirror.ts'
import { createAuditStore } from '../mirror/sql/audits.ts'
import { verifyMirror } from '../mirror/verify/verify-mirror.ts'
import { throwIfAborted } from '../service/core/api-failure.ts'
import type { ProjectId } from '../values/project.ts'
import { systemErrorText } from '../values/system-error-text.ts'
import { type EpochMs, toTimestamp } from '../values/time.ts'
import { UserError } from '../values/user-error.ts'
import { openMirror } from './mirror.ts'
import { withWarehouse } from './open.ts'
import { type CommandOptions, withProject } from './service.ts'

export type VerifyOptions = CommandOptions & {
  readonly streams: readonly StreamName[]
  /** How many differences are listed. */
  readonly limit: number
  /** Compare only so many conversations and visitors, drawn at random, with their children; undefined = everything. */
  readonly sampleSize?: number | undefined
  readonly onProgress: (progress: SyncProgress) => void
}

export function verifyProject(config: Config, project: ProjectConfig, options: VerifyOptions): Promise<VerifyReport> {
  return withProject(config, project, { ...options, access: 'read' }, async ({ client }, warehouse) => {
    const mirror = openMirror(warehouse, project.projectId)
    const store = createAuditStore(warehouse.projectDb(project.projectId))
    const deps = { ...project, ...options, streams: new Set(options.streams), get: client.get, mirror, store }
    const result = await verifyMirror({ ...deps, now: Date.now })
    return { project: project.name, ...result, requests: client.requestCount() }
  })
}

/** `now`: the clock of the command. */
type CountOptions = Pick<VerifyOptions, 'streams' | 'signal'> & {
  readonly onProgress?: VerifyOptions['onProgress']
  readonly now: () => EpochMs
}

export async function verifyWithDigests(
  config: Config,
  project: ProjectConfig,
  options: VerifyOptions & CountOptions,
): Promise<VerifyDocument> {
  const { now, streams, sampleSize = null } = options
  const from = toTimestamp(now())
  const report = await verifyProject(config, project, options)
  const to = toTimestamp(now())
  const isCompared = (name: StreamName) => report.streams.some(({ stream }) => stream === name)
  const notCompared = streams
    .filter((stream) => !isCompared(stream))
    .map((stream) => ({ stream, why: notComparable[stream] ?? 'a sample has none of it' }))
  const mirror = await countMirror(config, project, options)
  return { ...report, projectId: project.projectId, sample: sampleSize, from, to, notCompared, mirror }
}

const notComparable: Partial<Record<StreamName, string>> = { availability: 'the service shows only the present state' }

/**
 * Reads only the warehouse. `streams` undefined: those of the file. Throws UserError if the file has no counts of this project
 * and these streams.
 */
export async function compareWithDocument(
  config: Config,
  project: ProjectConfig,
  {
    file,
    streams,
    ...options
  }: Omit<CountOptions, 'streams'> & { readonly file: string; readonly streams: readonly StreamName[] | undefined },
): Promise<DigestComparison> {
  const { countedAt, digest, streams: all } = readVerifyDocument(file, project.projectId)
  const missing = streams?.find((name) => all.every(({ stream }) => stream !== name))
  if (missing !== undefined) {
    const [why, next] = [`it does not count ${missing}`, 'leave it out of --streams, or name another file']
    throw new UserError({ what: `cannot compare with ${file}`, why, next, exitCode: 2 })
  }
  const before = all.filter(({ stream }) => streams?.includes(stream) ?? true)
  const counted = await countMirror(config, project, { ...options, streams: before.map(({ stream }) => stream) })
  const changes = compareDigests(before, counted.streams)
  return { project: project.name, before: { file, countedAt, digest }, countedAt: counted.countedAt, streams: changes }
}

async function countMirror(
  config: Config,
  { projectId }: ProjectConfig,
  { streams, signal, now, onProgress }: CountOptions,
): Promise<MirrorCount> {
  const countedAt = toTimestamp(now())
  const onRows = (stream: StreamName, rows: number) =>
    onProgress?.({ stream, state: 'running', rows, changed: 0, requests: 0, left: null })
  const counted = await withWarehouse(
    config,
    (warehouse) =>
      withSnapshot(warehouse.db, warehouse.pool, (snapshot) =>
        readDigests({ snapshot, projectId, streams, signal, onRows }),
      ),
    { access: 'read', readOnly: true },
  )
  return { countedAt, digest: digestOfMirror(projectId, counted), streams: counted }
}

type DigestOptions = {
  readonly snapshot: ExportSnapshot
  readonly projectId: ProjectId
  readonly streams: readonly StreamName[]
  readonly signal: AbortSignal
  readonly onRows?: (stream: StreamName, rows: number) => void
}

export async function readDigests(options: DigestOptions): Promise<readonly CountedStream[]> {
  const found: CountedStream[] = []
  for (const stream of options.streams) found.push(await readStreamDigest(options, stream))
  return found
}

async function readStreamDigest(options: DigestOptions, stream: StreamName): Promise<CountedStream> {
  const { snapshot, projectId, signal, onRows } = options
  const object = await snapshot.describe({ name: streamSpecs[stream].table, kind: 'table' })
  const ofProject = equals(object, 'project_id', projectId)
  const hasDeletedAt = object.columns.some(({ name }) => name === 'deleted_at')
  const existing = hasDeletedAt ? [ofProject, equals(object, 'deleted_at', null)] : [ofProject]
  const identity = identityColumns(stream).map((name) => column(object, name))
  const [raw, day] = [column(object, 'raw'), dayColumn(stream)]
  const columns = [raw, ...identity, ...(day === null ? [] : [column(object, day)])]
  const digests = createDayDigests()
  let rows = 0
  for await (const batch of snapshot.readRows({ object, columns, conditions: existing })) {
    throwIfAborted(signal)
    for (const [text, ...values] of batch) {
      const at = day === null ? null : values[identity.length]
      digests.add(dayOf(typeof at === 'string' ? at : null), values.slice(0, identity.length), String(text))
    }
    rows += batch.length
    onRows?.(stream, rows)
  }
  const total = await snapshot.countRows({ object, columns: [raw], conditions: [ofProject] })
  const gaps = await snapshot.describe({ name: 'sync_gaps', kind: 'table' })
  const ofStream = [equals(gaps, 'project_id', projectId), equals(gaps, 'stream', stream)]
  const isOpen = [...ofStream, equals(gaps, 'resolved_at', null)]
  const openGaps = await snapshot.countRows({ object: gaps, columns: [column(gaps, 'stream')], conditions: isOpen })
  return { ...digests.finish(stream), deleted: total - rows, openGaps }
}

function equals(object: ExportObject, name: string, value: string | null) {
  return { column: column(object, name), operator: '=', value } as const
}

function column({ name: table, columns }: ExportObject, name: string): ExportColumn {
  const found = columns.find((known) => known.name === name)
  if (found === undefined) throw new Error(`${table} has no column ${name}`)
  return found
}

/** What the comparison needs. Other members may be anything. */
const mirrorSchema = z.object({
  countedAt: z.string(),
  digest: z.string(),
  streams: z.array(
    z.object({
      stream: z.enum(streamNames),
      rows: z.number(),
      digest: z.string(),
      days: z.array(z.object({ day: z.string().nullable(), rows: z.number(), digest: z.string() })),
    }),
  ),
})
const documentSchema = z.object({
  projects: z
    .array(z.object({ projectId: z.string(), mirror: z.unknown() }).or(z.object({ error: z.unknown() })))
    .min(1),
})

type StoredCount = z.infer<typeof mirrorSchema>

/** Throws UserError: it cannot be read, is no such document, has no counts of the project, or does not fit its digests. */
function readVerifyDocument(path: string, projectId: ProjectId): StoredCount {
  const refuse = (why: string, next: string) =>
    new UserError({ what: `cannot compare with ${path}`, why, next, exitCode: 2 })
  const document = documentSchema.safeParse(parseOrNull(readText(path)))
  if (!document.success)
    throw refuse('it is not what `verify --json` prints', 'name a file with the output of `deskmirror verify --json`')
  const counted = document.data.projects.flatMap((project) => ('projectId' in project ? [project] : []))
  const found = counted.find((project) => project.projectId === projectId)
  if (found === undefined) {
    const others = counted.map((project) => project.projectId).join(', ') || 'no project'
    throw refuse(`it has the counts of ${others}, and not of ${projectId}`, 'name another file, or one of its projects')
  }
  const { success, data: mirror } = mirrorSchema.safeParse(found.mirror)
  if (!success || !fitsItsDigests(projectId, mirror))
    throw refuse('its counts do not fit its own digests: it was changed or damaged', 'take an unchanged copy of it')
  return mirror
}

function fitsItsDigests(projectId: ProjectId, { streams, digest }: StoredCount): boolean {
  const fits = ({ rows, days, ...stream }: (typeof streams)[number]) =>
    digestOfDays(days) === stream.digest && days.reduce((sum, day) => sum + day.rows, 0) === rows
  return streams.every(fits) && digestOfMirror(projectId, streams) === digest
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const text = systemErrorText(error)
    if (text === undefined) throw error
    throw new UserError({ what: `cannot read ${path}`, ...text })
  }
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
