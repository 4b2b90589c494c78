/**
 * Runs `verify`, which changes nothing; `--json` counts rows by day, and `--against` counts again.
 */
import { type StreamName, streamSpecs } from '../../schema/stream-specs.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import { compareDigests } from '../export/core/day-digests.ts'
import type { ExportSnapshot, MirrorCount, StreamChange } from '../export/export.ts'
import { countMirror, readVerifyDocument } from '../export/mirror-count.ts'
import { withSnapshot } from '../export/sql/snapshot.ts'
import type { SyncProgress, VerifyReport } from '../mirror/mirror.ts'
import { createAuditStore } from '../mirror/sql/audits.ts'
import { verifyMirror } from '../mirror/verify/verify-mirror.ts'
import { throwIfAborted } from '../service/core/api-failure.ts'
import type { ProjectId, ProjectName } from '../values/project.ts'
import { type EpochMs, toTimestamp } from '../values/time.ts'
import { UserError } from '../values/user-error.ts'
import { withOpened } from '../values/with-opened.ts'
import { openMirror } from './facts.ts'
import { withWarehouse } from './open.ts'
import { type CommandOptions, openProject } from './service.ts'

type VerifyOptions = CommandOptions & {
  readonly streams: readonly StreamName[]
  /** How many differences are listed. */
  readonly limit: number
  /** So many conversations and visitors, with their children; undefined = everything. */
  readonly sampleSize?: number | undefined
  readonly onProgress: (progress: SyncProgress) => void
}

export function verifyProject(
  config: Config,
  project: ProjectConfig,
  options: VerifyOptions,
): Promise<VerifyReport> {
  return withOpened(async (use) => {
    const opened = await openProject(use, config, project, { ...options, access: 'read' })
    const { service, warehouse } = opened
    const { requestCount } = service.client
    const result = await verifyMirror({
      ...project,
      ...options,
      streams: new Set(options.streams),
      get: service.mirrorGet,
      mirror: openMirror(warehouse, project.projectId),
      store: createAuditStore(warehouse.projectDb(project.projectId)),
      now: Date.now,
    })
    return { project: project.name, ...result, requests: requestCount() }
  })
}

/** `now`: the clock of the command. */
type CountOptions = Pick<VerifyOptions, 'streams' | 'signal'> & {
  readonly onProgress?: VerifyOptions['onProgress']
  readonly now: () => EpochMs
}

/**
 * `verify --json`, one project: what was compared with the service, what could not be, and what the
 * mirror has.
 */
export type VerifyDocument = VerifyReport & {
  /** Its id in the service. */
  readonly projectId: ProjectId
  /**
   * So many conversations and visitors were drawn at random, with their children; null = every row.
   */
  readonly sample: number | null
  /** When the service was read. */
  readonly from: string
  readonly to: string
  /** Streams of which nothing was compared. */
  readonly notCompared: readonly { readonly stream: StreamName; readonly why: string }[]
  readonly mirror: MirrorCount
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
    .map((stream) => ({
      stream,
      why: streamSpecs[stream].kind === 'snapshot' ? onlyPresent : 'a sample has none of it',
    }))
  const mirror = await countStreams(config, project, options)
  return {
    ...report,
    projectId: project.projectId,
    sample: sampleSize,
    from,
    to,
    notCompared,
    mirror,
  }
}

const onlyPresent = 'the service shows only the present state'

/** `verify --against`, one project. */
export type DigestComparison = {
  readonly project: ProjectName
  /** What the file says. */
  readonly before: { readonly file: string; readonly countedAt: string; readonly digest: string }
  readonly countedAt: string
  readonly streams: readonly StreamChange[]
}

/**
 * Reads only the warehouse. `streams` undefined: those of the file. Throws UserError if it has
 * none.
 */
export async function compareWithDocument(
  config: Config,
  project: ProjectConfig,
  {
    file,
    streams,
    ...options
  }: Omit<CountOptions, 'streams'> & {
    readonly file: string
    readonly streams: readonly StreamName[] | undefined
  },
): Promise<DigestComparison> {
  const { countedAt, digest, streams: all } = readVerifyDocument(file, project.projectId)
  const missing = streams?.find((name) => all.every(({ stream }) => stream !== name))
  if (missing !== undefined) {
    const why = `it does not count ${missing}`
    const next = 'leave it out of --streams, or name another file'
    throw new UserError({ what: `cannot compare with ${file}`, why, next })
  }
  const before = all.filter(({ stream }) => streams?.includes(stream) ?? true)
  const counted = await countStreams(config, project, {
    ...options,
    streams: before.map(({ stream }) => stream),
  })
  const changes = compareDigests(before, counted.streams)
  return {
    project: project.name,
    before: { file, countedAt, digest },
    countedAt: counted.countedAt,
    streams: changes,
  }
}

async function countStreams(
  config: Config,
  { projectId }: ProjectConfig,
  { streams, signal, now, onProgress }: CountOptions,
): Promise<MirrorCount> {
  const countedAt = toTimestamp(now())
  const onRows = (stream: StreamName, rows: number) => {
    throwIfAborted(signal)
    onProgress?.({ stream, state: 'running', rows, changed: 0, requests: 0, left: null })
  }
  const count = (snapshot: ExportSnapshot) =>
    countMirror(snapshot, countedAt, { projectId, streams, onRows })
  return withWarehouse(config, ({ db, pool }) => withSnapshot(db, pool, count), {
    access: 'read',
    readOnly: true,
  })
}
