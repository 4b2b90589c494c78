/** Runs `verify --certificate` and `verify --against`. */
import type { Config, ProjectConfig } from '../config/config.ts'
import type { Certificate, CertifiedComparison } from '../core/certificate.ts'
import { compareDigests } from '../core/certificate-changes.ts'
import type { SyncProgress, VerifyReport } from '../core/command-reports.ts'
import type { ExportSnapshot } from '../core/export.ts'
import type { CertificateComparison, CertifiedReport } from '../core/proof-reports.ts'
import type { StreamName } from '../core/stream-specs.ts'
import { type EpochMs, rfc3339, toTimestamp } from '../core/time.ts'
import { trimEnd } from '../core/trim.ts'
import { UserError } from '../core/user-error.ts'
import { makeCertificate, parseCertificate } from '../verify/certificate.ts'
import { openCertificateFiles, readCertificateText } from '../verify/certificate-files.ts'
import { countIncompleteConversations, readDigests } from '../verify/read-digests.ts'
import { ownDatabase } from '../warehouse/databases.ts'
import { readStatus } from './status.ts'
import { type VerifyOptions, verifyProject } from './verify.ts'
import { withWarehouse } from './with-resources.ts'

type CertifyOptions = VerifyOptions & {
  /** `kiosk` writes `kiosk.json` and `kiosk.html`. */
  readonly file: string
  readonly overwrite: boolean
  /** Name and version of this program. */
  readonly software: string
  readonly now: () => EpochMs
}

/** Compares the mirror with the service, and writes what was compared and counted. Throws UserError if a file exists. */
export async function certifyProject(
  config: Config,
  project: ProjectConfig,
  options: CertifyOptions,
): Promise<CertifiedReport> {
  const { now, signal, streams, software } = options
  const files = await openCertificateFiles(options.file, options)
  try {
    const from = toTimestamp(now())
    const report = await verifyProject(config, project, options)
    const to = toTimestamp(now())
    const status = await readStatus(config, project)
    const countedAt = toTimestamp(now())
    const { counted, incompleteConversations } = await withSnapshot(config, project, async (snapshot) => ({
      counted: await readDigests({ snapshot, projectId: project.projectId, streams, signal, ...progressOf(options) }),
      incompleteConversations: await countIncompleteConversations(snapshot, project.projectId),
    }))
    const certificate: Certificate = makeCertificate({
      software,
      project: { id: project.projectId, name: project.name },
      service: trimEnd(project.baseUrl.href, '/'),
      timeZone: project.timeZone,
      startDate: project.startDate === null ? null : rfc3339(project.startDate),
      countedAt,
      comparison: toComparison(report, options, from, to),
      counted,
      incompleteConversations,
      status,
      audits: status.audits,
    })
    const sha256 = await files.write(certificate)
    const { digest, limits } = certificate
    const stated = { json: files.json, page: files.page, countedAt, digest, sha256, limits: limits.length }
    return { ...report, certificate: stated }
  } finally {
    await files.close()
  }
}

type AgainstOptions = {
  readonly file: string
  /** Undefined: those of the certificate. */
  readonly streams: readonly StreamName[] | undefined
  readonly signal: AbortSignal
  readonly now: () => EpochMs
}

/** Reads only the warehouse. Throws UserError if the file is no certificate of this project and format. */
export async function compareWithCertificate(
  config: Config,
  project: ProjectConfig,
  { file, streams, signal, now }: AgainstOptions,
): Promise<CertificateComparison> {
  const { path, text, sha256 } = readCertificateText(file)
  const { projectId } = project
  const { countedAt, digest, streams: all } = parseCertificate(path, text, projectId)
  const missing = streams?.find((name) => all.every(({ stream }) => stream !== name))
  if (missing !== undefined) throw missingStreamError(path, missing)
  const certified = all.filter(({ stream }) => streams?.includes(stream) ?? true)
  const names = certified.map(({ stream }) => stream)
  const countedNow = toTimestamp(now())
  const counted = await withSnapshot(config, project, (snapshot) =>
    readDigests({ snapshot, projectId, streams: names, signal }),
  )
  const changes = compareDigests(certified, counted)
  return {
    project: project.name,
    certificate: { file: path, countedAt, digest, sha256 },
    countedAt: countedNow,
    streams: changes,
  }
}

function missingStreamError(path: string, stream: StreamName): UserError {
  const [why, next] = [`it does not count ${stream}`, 'leave it out of --streams, or name another certificate']
  return new UserError({ what: `cannot compare with ${path}`, why, next, exitCode: 2 })
}

function withSnapshot<T>(
  config: Config,
  project: ProjectConfig,
  work: (snapshot: ExportSnapshot) => Promise<T>,
): Promise<T> {
  return withWarehouse(ownDatabase(config, project), (warehouse) => warehouse.withSnapshot(work), {
    access: 'read',
    readOnly: true,
  })
}

function progressOf({ onProgress }: Pick<VerifyOptions, 'onProgress'>) {
  const onRows = (stream: StreamName, rows: number) =>
    onProgress({ stream, state: 'running', rows, changed: 0, requests: 0, left: null } satisfies SyncProgress)
  return { onRows }
}

const notComparable: Partial<Record<StreamName, string>> = {
  availability: 'the service shows only the present state',
}

/** A stream that the report does not name was not compared. */
function toComparison(
  { streams: reports, differences, truncated, requests }: VerifyReport,
  { streams, sampleSize }: Pick<CertifyOptions, 'streams' | 'sampleSize'>,
  from: string,
  to: string,
): CertifiedComparison {
  return {
    sample: sampleSize ?? null,
    from,
    to,
    requests,
    streams: streams.map((stream) => {
      const report = reports.find((found) => found.stream === stream)
      if (report === undefined) {
        const notCompared = notComparable[stream] ?? 'a sample has none of it'
        return { stream, compared: 0, differing: 0, notCompared, incomplete: null }
      }
      const { compared, differing, skipped, incomplete = null } = report
      return {
        stream,
        compared,
        differing,
        notCompared: skipped === null ? null : `the key lacks ${skipped}`,
        incomplete,
      }
    }),
    differences,
    truncated,
  }
}
