/** Reads all rows of a project from one state of the mirror, and makes digests of them. */

import { type StreamName, streamSpecs } from '../../../schema/stream-specs.ts'
import type { ExportColumn, ExportObject, ExportSnapshot } from '../../export/core/export.ts'
import type { ProjectId } from '../../values/project.ts'
import { createDayDigests, dayColumns, dayOf, identityColumns } from '../core/day-digests.ts'
import type { CountedStream } from '../core/proof-reports.ts'
import { throwIfAborted } from '../sync/stop.ts'

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
  const ofProject = { column: column(object, 'project_id'), operator: '=', value: projectId } as const
  const deletedAt = object.columns.find(({ name }) => name === 'deleted_at')
  const existing = deletedAt === undefined ? [] : [{ column: deletedAt, operator: '=', value: null } as const]
  const identity = identityColumns[stream].map((name) => column(object, name))
  const [raw, day] = [column(object, 'raw'), dayColumns[stream]]
  const columns = [raw, ...identity, ...(day === null ? [] : [column(object, day)])]
  const digests = createDayDigests()
  let rows = 0
  for await (const batch of snapshot.readRows({ object, columns, conditions: [ofProject, ...existing] })) {
    throwIfAborted(signal)
    for (const [text, ...values] of batch) {
      const at = day === null ? null : values[identity.length]
      digests.add(dayOf(typeof at === 'string' ? at : null), values.slice(0, identity.length), String(text))
    }
    rows += batch.length
    onRows?.(stream, rows)
  }
  const total = await snapshot.countRows({ object, columns: [raw], conditions: [ofProject] })
  const openGaps = await countOpenGaps(snapshot, projectId, stream)
  return { ...digests.finish(stream), deleted: total - rows, openGaps }
}

async function countOpenGaps(snapshot: ExportSnapshot, projectId: ProjectId, stream: StreamName): Promise<number> {
  const object = await snapshot.describe({ name: 'sync_gaps', kind: 'table' })
  const equals = (name: string, value: string | null) =>
    ({ column: column(object, name), operator: '=', value }) as const
  const conditions = [equals('project_id', projectId), equals('stream', stream), equals('resolved_at', null)]
  return snapshot.countRows({ object, columns: [column(object, 'stream')], conditions })
}

function column({ name: table, columns }: ExportObject, name: string): ExportColumn {
  const found = columns.find((known) => known.name === name)
  if (found === undefined) throw new Error(`${table} has no column ${name}`)
  return found
}
