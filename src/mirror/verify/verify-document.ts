/** Reads a document of `verify --json` back, to compare the mirror with it. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { streamNames } from '../../../schema/stream-specs.ts'
import type { ProjectId } from '../../values/project.ts'
import { systemErrorText } from '../../values/system-error-text.ts'
import { UserError } from '../../values/user-error.ts'
import { digestOfDays, digestOfMirror } from '../core/day-digests.ts'

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
export function readVerifyDocument(path: string, projectId: ProjectId): StoredCount {
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
