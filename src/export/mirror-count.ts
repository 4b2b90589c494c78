/** Counts the rows of a mirror, with a digest for each day, and reads an earlier count. */
import { z } from 'zod'
import { hasDeletedAt } from '../../schema/mirror-tables.ts'
import { dayColumn, type StreamName, streamNames, streamSpecs } from '../../schema/stream-specs.ts'
import { readTextFile } from '../config/text-file.ts'
import { tryParseJson } from '../values/json.ts'
import type { ProjectId } from '../values/project.ts'
import { UserError } from '../values/user-error.ts'
import {
  createDayDigests,
  dayOf,
  digestOfDays,
  digestOfMirror,
  identityColumns,
  type StreamDigest,
} from './core/day-digests.ts'
import { allRows, type ExportSelection, type RowRequest, selectRows } from './core/selection.ts'
import type { ExportSnapshot } from './sql/snapshot.ts'

/**
 * All existing rows at one moment. `digest`: SHA-256 of the project's id and the digests of the
 * streams.
 */
export type MirrorCount = {
  readonly countedAt: string
  readonly digest: string
  readonly streams: readonly CountedStream[]
}

/** `deleted`: rows that are kept although the service no longer has them. They are in no digest. */
type CountedStream = StreamDigest & { readonly deleted: number; readonly openGaps: number }

type CountOptions = {
  readonly projectId: ProjectId
  readonly streams: readonly StreamName[]
  /** May throw, to end it. */
  readonly onRows?: (stream: StreamName, rows: number) => void
}

/** `snapshot`: all of it is of one moment, `countedAt`. */
export async function countMirror(
  snapshot: ExportSnapshot,
  countedAt: string,
  options: CountOptions,
): Promise<MirrorCount> {
  const streams: CountedStream[] = []
  for (const stream of options.streams) streams.push(await countStream(snapshot, options, stream))
  return { countedAt, digest: digestOfMirror(options.projectId, streams), streams }
}

async function countStream(
  snapshot: ExportSnapshot,
  { projectId, onRows }: CountOptions,
  stream: StreamName,
): Promise<CountedStream> {
  const select = async (
    name: string,
    columns: readonly string[],
    where: RowRequest['where'] = [],
  ): Promise<ExportSelection> => {
    const object = await snapshot.describe({ name, kind: 'table' })
    return selectRows(object, { ...allRows, projectId, columns, where })
  }
  const { table } = streamSpecs[stream]
  const existing = hasDeletedAt(table) ? [{ column: 'deleted_at', value: null }] : []
  const identity = identityColumns(stream)
  const day = dayColumn(stream)
  const columns = ['raw', ...identity, ...(day === null ? [] : [day])]
  const digests = createDayDigests()
  let rows = 0
  for await (const batch of snapshot.readRows(await select(table, columns, existing))) {
    for (const [text, ...values] of batch) {
      const at = day === null ? null : values[identity.length]
      digests.add(
        dayOf(typeof at === 'string' ? at : null),
        values.slice(0, identity.length),
        String(text),
      )
    }
    rows += batch.length
    onRows?.(stream, rows)
  }
  const total = await snapshot.countRows(await select(table, ['raw']))
  const open = [
    { column: 'stream', value: stream },
    { column: 'resolved_at', value: null },
  ]
  const openGaps = await snapshot.countRows(await select('sync_gaps', ['stream'], open))
  return { ...digests.finish(stream), deleted: total - rows, openGaps }
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
    .array(
      z.object({ projectId: z.string(), mirror: z.unknown() }).or(z.object({ error: z.unknown() })),
    )
    .min(1),
})

/** Throws UserError: unreadable, no such document, without this project, or changed. */
export function readVerifyDocument(path: string, projectId: ProjectId) {
  const refuse = (why: string, next: string) =>
    new UserError({ what: `cannot compare with ${path}`, why, next })
  const document = documentSchema.safeParse(tryParseJson(readText(path)))
  if (!document.success)
    throw refuse(
      'it is not what `verify --json` prints',
      'name a file with the output of `deskmirror verify --json`',
    )
  const counted = document.data.projects.flatMap((project) =>
    'projectId' in project ? [project] : [],
  )
  const found = counted.find((project) => project.projectId === projectId)
  if (found === undefined) {
    const others = counted.map((project) => project.projectId).join(', ') || 'no project'
    throw refuse(
      `it has the counts of ${others}, and not of ${projectId}`,
      'name another file, or one of its projects',
    )
  }
  const { success, data: mirror } = mirrorSchema.safeParse(found.mirror)
  if (!success || !fitsItsDigests(projectId, mirror))
    throw refuse(
      'its counts do not fit its own digests: it was changed or damaged',
      'take an unchanged copy of it',
    )
  return mirror
}

function fitsItsDigests(
  projectId: ProjectId,
  { streams, digest }: z.infer<typeof mirrorSchema>,
): boolean {
  const fits = ({ rows, days, ...stream }: (typeof streams)[number]) =>
    digestOfDays(days) === stream.digest && days.reduce((sum, day) => sum + day.rows, 0) === rows
  return streams.every(fits) && digestOfMirror(projectId, streams) === digest
}

/** Much more than decades of a hundred projects have. */
const maxDocumentBytes = 500e6

function readText(path: string): string {
  const text = readTextFile(path, maxDocumentBytes)
  if (typeof text === 'string') return text
  const why = text === null ? 'there is no such file or folder' : text.message
  throw new UserError({
    what: `cannot read ${path}`,
    why,
    next: 'check the path and its permissions',
  })
}
