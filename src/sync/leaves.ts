/** One parent's document: the recording of a call. */
import type { DueChild } from '../core/mirror.ts'
import { moment, rfc3339, type Seconds } from '../core/time.ts'
import { calls } from '../streams/calls.ts'
import { fieldsOf } from '../streams/row.ts'
import type { LeafStream } from '../streams/stream.ts'
import type { ReadChild } from './children.ts'
import type { Run } from './deps.ts'
import { isGone } from './stop.ts'

/** Learned where the service answers 404 for a call without a recording, instead of `hasRecording: false`. */
const answers404 = 'call_recordings.none'

export function leafReader(run: Run, stream: LeafStream): ReadChild {
  const isNone = oneAtATime((call) => hasNone(run, call))
  return async (child, lane) => {
    const answer = await run.get(stream.path(child.parentId), {}, lane).catch(async (error) => {
      if (isGone(error) && (await isNone(child.parentId))) return null
      throw error
    })
    const item = answer === null ? null : fieldsOf(answer.data)
    const now = answer?.horizon ?? run.horizon()
    const again = stream.again(item, ageOf(child, now))
    const { parentId, wanted } = child
    const { changed } = await run.mirror.commit({
      stream: stream.name,
      rows: [stream.row(item, parentId, now)],
      askedAt: answer?.askedAt ?? run.now(),
      child: {
        stream: stream.name,
        parentId,
        wanted,
        position: child.position ?? rfc3339(now),
        complete: true,
        againAt: again === null ? null : run.now() + again * 1000,
      },
    })
    run.tally.stored(stream.name, 1, changed)
  }
}

/** Seconds since the call; since it was first seen, where it says nothing or is dated ahead. */
function ageOf({ parentAt, position }: DueChild, now: Seconds): Seconds {
  return now - (parentAt !== null && parentAt <= now ? parentAt : (moment(position) ?? now))
}

/** The calls that are read side by side ask one after the other, so that what the first learns saves the others a request. */
function oneAtATime(ask: (call: string) => Promise<boolean>): (call: string) => Promise<boolean> {
  let before: Promise<unknown> = Promise.resolve()
  return (call) => {
    const turn = before.then(() => ask(call))
    before = turn.catch(() => {})
    return turn
  }
}

/** Whether a 404 means only that there is no recording: the call itself answers that, once. */
async function hasNone(run: Run, call: string): Promise<boolean> {
  if ((await run.mirror.behaviours()).has(answers404)) return true
  try {
    const { requestId, askedAt } = await run.get(calls.one(run.project, call), {}, 'fresh')
    const evidence = `call ${call} exists and its recording was answered 404, request ${requestId ?? 'without id'}`
    const learned = [{ name: answers404, value: 'answered 404', evidence }]
    await run.mirror.commit({ stream: 'call_recordings', rows: [], askedAt, learned })
    return true
  } catch (error) {
    if (isGone(error)) return false
    throw error
  }
}
