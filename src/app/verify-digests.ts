/** Runs `verify --json`, which also counts the rows of the mirror by day, and `verify --against`, which counts them again. */

import type { StreamName } from '../../schema/stream-specs.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import { digestOfMirror } from '../mirror/core/day-digests.ts'
import { compareDigests } from '../mirror/core/digest-changes.ts'
import type { DigestComparison, MirrorCount, VerifyDocument } from '../mirror/core/proof-reports.ts'
import { readDigests } from '../mirror/verify/read-digests.ts'
import { readVerifyDocument } from '../mirror/verify/verify-document.ts'
import { type EpochMs, toTimestamp } from '../values/time.ts'
import { UserError } from '../values/user-error.ts'
import { type VerifyOptions, verifyProject } from './verify.ts'
import { withWarehouse } from './with-resources.ts'

type CountOptions = Pick<VerifyOptions, 'streams' | 'signal'> & {
  readonly onProgress?: VerifyOptions['onProgress']
  readonly now: () => EpochMs
}

export async function verifyWithDigests(
  config: Config,
  project: ProjectConfig,
  options: VerifyOptions & CountOptions,
): Promise<VerifyDocument> {
  const { now, streams, sampleSize } = options
  const from = toTimestamp(now())
  const report = await verifyProject(config, project, options)
  const to = toTimestamp(now())
  const compared = new Set(report.streams.map(({ stream }) => stream))
  const notCompared = streams.filter((stream) => !compared.has(stream))
  return {
    ...report,
    projectId: project.projectId,
    sample: sampleSize ?? null,
    from,
    to,
    notCompared: notCompared.map((stream) => ({ stream, why: notComparable[stream] ?? 'a sample has none of it' })),
    mirror: await countMirror(config, project, options),
  }
}

const notComparable: Partial<Record<StreamName, string>> = { availability: 'the service shows only the present state' }

type AgainstOptions = Pick<CountOptions, 'signal' | 'now'> & {
  readonly file: string
  /** Undefined: those of the file. */
  readonly streams: readonly StreamName[] | undefined
}

/** Reads only the warehouse. Throws UserError if the file has no counts of this project and these streams. */
export async function compareWithDocument(
  config: Config,
  project: ProjectConfig,
  { file, streams, ...options }: AgainstOptions,
): Promise<DigestComparison> {
  const { countedAt, digest, streams: all } = readVerifyDocument(file, project.projectId)
  const missing = streams?.find((name) => all.every(({ stream }) => stream !== name))
  if (missing !== undefined) throw missingStreamError(file, missing)
  const before = all.filter(({ stream }) => streams?.includes(stream) ?? true)
  const counted = await countMirror(config, project, { ...options, streams: before.map(({ stream }) => stream) })
  return {
    project: project.name,
    before: { file, countedAt, digest },
    countedAt: counted.countedAt,
    streams: compareDigests(before, counted.streams),
  }
}

function missingStreamError(path: string, stream: StreamName): UserError {
  const [why, next] = [`it does not count ${stream}`, 'leave it out of --streams, or name another file']
  return new UserError({ what: `cannot compare with ${path}`, why, next, exitCode: 2 })
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
    (warehouse) => warehouse.withSnapshot((snapshot) => readDigests({ snapshot, projectId, streams, signal, onRows })),
    { access: 'read', readOnly: true },
  )
  return { countedAt, digest: digestOfMirror(projectId, counted), streams: counted }
}
