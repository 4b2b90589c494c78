/** One parent's document: the recording of a call. */
import type { PendingChild } from '../core/mirror.ts'
import { parseTime, rfc3339, type Seconds } from '../core/time.ts'
import { calls } from '../streams/calls.ts'
import { asJsonObject } from '../streams/item.ts'
import type { ChildObjectStream } from '../streams/stream.ts'
import type { ChildReader } from './children.ts'
import type { SyncRun } from './deps.ts'
import { isNotFound } from './stop.ts'

/** Learned where the service answers 404 for a call without a recording, instead of `hasRecording: false`. */
const noRecordingBehaviour = 'call_recordings.none'

export function childObjectReader(run: SyncRun, stream: ChildObjectStream): ChildReader {
  const isNone = serialize((call) => confirmNoRecording(run, call))
  return async (child, lane) => {
    const answer = await run.get(stream.path(child.parentId), {}, lane).catch(async (error) => {
      if (isNotFound(error) && (await isNone(child.parentId))) return null
      throw error
    })
    const item = answer === null ? null : asJsonObject(answer.data)
    const now = answer?.cursorLimit ?? run.cursorLimit()
    const rereadAfter = stream.rereadAfter(item, childAge(child, now))
    const { parentId, wanted } = child
    const { changed } = await run.mirror.commit({
      stream: stream.name,
      rows: [stream.parseRow(item, parentId, now)],
      askedAt: answer?.askedAt ?? run.now(),
      child: {
        stream: stream.name,
        parentId,
        wanted,
        position: child.position ?? rfc3339(now),
        complete: true,
        againAt: rereadAfter === null ? null : run.now() + rereadAfter * 1000,
      },
    })
    run.stats.recordPage(stream.name, 1, changed)
  }
}

/** Seconds since the call; since it was first seen, where it says nothing or is dated ahead. */
function childAge({ parentAt, position }: PendingChild, now: Seconds): Seconds {
  return now - (parentAt !== null && parentAt <= now ? parentAt : (parseTime(position) ?? now))
}

/** The calls that are read side by side ask one after the other, so that what the first learns saves the others a request. */
function serialize(ask: (call: string) => Promise<boolean>): (call: string) => Promise<boolean> {
  let before: Promise<unknown> = Promise.resolve()
  return (call) => {
    const result = before.then(() => ask(call))
    before = result.catch(() => {})
    return result
  }
}

/** Whether a 404 means only that there is no recording: the call itself answers that, once. */
async function confirmNoRecording(run: SyncRun, call: string): Promise<boolean> {
  if ((await run.mirror.behaviours()).has(noRecordingBehaviour)) return true
  try {
    const { requestId, askedAt } = await run.get(calls.rowPath(run.projectId, call), {}, 'fresh')
    const evidence = `call ${call} exists and its recording was answered 404, request ${requestId ?? 'without id'}`
    const learned = [{ name: noRecordingBehaviour, value: 'answered 404', evidence }]
    await run.mirror.commit({ stream: 'call_recordings', rows: [], askedAt, learned })
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}
