/** The availability of agents: a snapshot of now. */
import { asJsonObject, foreignProject } from '../streams/item.ts'
import type { SnapshotStream } from '../streams/stream.ts'
import { createPresentTime } from './clocks.ts'
import type { SyncRun } from './deps.ts'

export async function syncSnapshot(run: SyncRun, stream: SnapshotStream): Promise<void> {
  const answer = await run.get(stream.path(run.projectId), {}, 'fresh')
  const other = foreignProject(asJsonObject(answer.data) ?? {}, run.projectId)
  const refused = other === null ? [] : [{ id: null, why: `it belongs to another project (${other})` }]
  const present = await createPresentTime(run)
  const rows = other === null ? [stream.parseRow(answer.data, present())] : []
  const { changed } = await run.mirror.commit({ stream: stream.name, rows, refused, askedAt: answer.askedAt })
  run.stats.recordPage(stream.name, rows.length, changed)
}
