/** The availability of agents: a snapshot of now. */
import type { MomentStream } from '../streams/stream.ts'
import type { Run } from './deps.ts'

export async function syncMoment(run: Run, stream: MomentStream): Promise<void> {
  const answer = await run.get(stream.path(run.project), {}, 'fresh')
  const rows = [stream.row(answer.data, answer.servedAt ?? run.serviceNow())]
  const { changed } = await run.mirror.commit({ stream: stream.name, rows, askedAt: answer.askedAt })
  run.tally.stored(stream.name, 1, changed)
}
