/** The availability of agents: a snapshot of now. */
import { fieldsOf, otherProject } from '../streams/row.ts'
import type { MomentStream } from '../streams/stream.ts'
import { presentOf } from './clocks.ts'
import type { Run } from './deps.ts'

export async function syncMoment(run: Run, stream: MomentStream): Promise<void> {
  const answer = await run.get(stream.path(run.project), {}, 'fresh')
  const other = otherProject(fieldsOf(answer.data) ?? {}, run.project)
  const refused = other === null ? [] : [{ id: null, why: `it belongs to another project (${other})` }]
  const present = await presentOf(run)
  const rows = other === null ? [stream.row(answer.data, present())] : []
  const { changed } = await run.mirror.commit({ stream: stream.name, rows, refused, askedAt: answer.askedAt })
  run.tally.stored(stream.name, rows.length, changed)
}
