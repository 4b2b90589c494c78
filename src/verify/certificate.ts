/** Makes a certificate of what was compared and counted, and reads one back. */
import { z } from 'zod'
import type { AuditEstimate } from '../core/audit.ts'
import {
  type Certificate,
  type CertifiedComparison,
  type CertifiedStream,
  certificateFormat,
  certificateVersion,
} from '../core/certificate.ts'
import type { StatusReport } from '../core/command-reports.ts'
import type { StreamDigest } from '../core/day-digest.ts'
import { digestOfDays, digestOfStreams } from '../core/row-digests.ts'
import { type StreamName, streamNames } from '../core/stream-specs.ts'
import { UserError } from '../core/user-error.ts'
import { listLimits } from './certificate-limits.ts'
import type { CountedStream } from './read-digests.ts'

export type CertificateFacts = {
  readonly software: string
  readonly project: Certificate['project']
  readonly service: string
  readonly timeZone: string
  readonly startDate: string | null
  readonly countedAt: string
  readonly comparison: CertifiedComparison
  readonly counted: readonly CountedStream[]
  readonly incompleteConversations: number
  readonly status: Pick<StatusReport, 'streams' | 'gaps' | 'behaviours'>
  readonly audits: readonly AuditEstimate[]
}

export function makeCertificate(facts: CertificateFacts): Certificate {
  const { counted, status, incompleteConversations, ...stated } = facts
  const syncedAt = (stream: StreamName) => status.streams.find((report) => report.stream === stream)?.syncedAt ?? null
  const streams = counted.map((digest): CertifiedStream => ({ ...digest, syncedAt: syncedAt(digest.stream) }))
  const certified = new Set(streams.map(({ stream }) => stream))
  const gaps = status.gaps.filter(({ stream }) => certified.has(stream))
  const behaviours = new Map(status.behaviours.map(({ name, value }) => [name, value]))
  return {
    format: certificateFormat,
    version: certificateVersion,
    ...stated,
    streams,
    gaps,
    behaviours: status.behaviours,
    limits: listLimits({ ...facts, streams, gaps, behaviours, incompleteConversations }),
    digest: digestOfCertificate(facts.project.id, streams),
  }
}

function digestOfCertificate(projectId: string, streams: readonly StreamDigest[]): string {
  return digestOfStreams(`${certificateFormat} ${certificateVersion} ${projectId}`, streams)
}

/** What a later comparison needs. Members that it does not need may be anything. */
const certificateSchema = z.object({
  format: z.literal(certificateFormat),
  version: z.number(),
  project: z.object({ id: z.string(), name: z.string() }),
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
export type StoredCertificate = z.infer<typeof certificateSchema>

const formatSchema = z.object({ format: z.literal(certificateFormat), version: z.number() })

/** `path`: for messages. Throws UserError: no certificate, of another version or project, or changed since. */
export function parseCertificate(path: string, text: string, projectId: string): StoredCertificate {
  const refuse = (why: string, next: string) =>
    new UserError({ what: `cannot compare with ${path}`, why, next, exitCode: 2 })
  const document = parseOrNull(text)
  const format = formatSchema.safeParse(document)
  if (!format.success)
    throw refuse('it is not a certificate of deskmirror', 'name the .json file that `verify --certificate` wrote')
  const { version } = format.data
  if (version !== certificateVersion)
    throw refuse(
      `its format has version ${version}, and this deskmirror knows version ${certificateVersion}`,
      'use the deskmirror that wrote it, or a newer one',
    )
  const { success, data: certificate } = certificateSchema.safeParse(document)
  if (!success || !fitsItsDigests(certificate))
    throw refuse('its counts do not fit its own digests: it was changed or damaged', 'take an unchanged copy of it')
  if (certificate.project.id !== projectId)
    throw refuse(
      `it is of the project ${certificate.project.id} (${certificate.project.name}), not of ${projectId}`,
      'name the project with --project, or another certificate',
    )
  return certificate
}

function fitsItsDigests({ project, streams, digest }: StoredCertificate): boolean {
  const fits = ({ rows, days, ...stream }: (typeof streams)[number]) =>
    digestOfDays(days) === stream.digest && days.reduce((sum, day) => sum + day.rows, 0) === rows
  return streams.every(fits) && digestOfCertificate(project.id, streams) === digest
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
