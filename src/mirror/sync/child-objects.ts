/** Streams with one object per parent: the recordings of calls. */
import { isNotFound } from '../../service/core/api-failure.ts'
import { asJsonObject } from '../../values/json.ts'
import { type EpochSeconds, parseTime, rfc3339, type Seconds } from '../../values/time.ts'
import type { PendingParent } from '../core/mirror.ts'
import { calls } from '../streams/list-streams.ts'
import type { ChildObjectStream } from '../streams/stream.ts'
import type { ChildReader } from './children.ts'
import type { SyncRun } from './run.ts'

/** Recorded if the service answers 404 for a call without a recording, instead of `hasRecording: false`. */
const noRecordingBehaviour = 'call_recordings.none'

export function childObjectReader(run: SyncRun, stream: ChildObjectStream): ChildReader {
  const hasNoRecording = serialize((call) => confirmNoRecording(run, call))
  return async (parent, priority) => {
    const response = await run.get(stream.path(parent.parentId), {}, priority).catch(async (error) => {
      if (isNotFound(error) && (await hasNoRecording(parent.parentId))) return null
      throw error
    })
    const item = response === null ? null : asJsonObject(response.data)
    const now = response?.cursorLimit ?? run.cursorLimit()
    const rereadAfter = stream.rereadAfter(item, ageOf(parent, now))
    const { parentId, requestedVersion } = parent
    const result = await run.mirror.commit({
      stream: stream.name,
      rows: [stream.parseRow(item, parentId, now)],
      requestedAt: response?.requestedAt ?? run.now(),
      childRead: {
        stream: stream.name,
        parentId,
        requestedVersion,
        cursor: parent.cursor ?? rfc3339(now),
        completeness: 'complete',
        dueAt: rereadAfter === null ? null : run.now() + rereadAfter * 1000,
      },
    })
    run.stats.recordPage(stream.name, 1, result)
  }
}

/** The time since the call, or since its first read if it shows no time or a future one. */
function ageOf({ parentLastActiveAt: calledAt, cursor }: PendingParent, now: EpochSeconds): Seconds {
  return now - (calledAt !== null && calledAt <= now ? calledAt : (parseTime(cursor) ?? now))
}

/** Runs the checks one after the other, so that the result of the first one saves the requests of the others. */
function serialize(check: (call: string) => Promise<boolean>): (call: string) => Promise<boolean> {
  let previous: Promise<unknown> = Promise.resolve()
  return (call) => {
    const result = previous.then(() => check(call))
    previous = result.catch(() => {})
    return result
  }
}

/** A 404 means only that there is no recording if the call itself exists. Checked once for all calls. */
async function confirmNoRecording(run: SyncRun, call: string): Promise<boolean> {
  if ((await run.mirror.readBehaviours()).has(noRecordingBehaviour)) return true
  try {
    const { requestId, requestedAt } = await run.get(calls.rowPath(run.projectId, call), {}, 'fresh')
    const evidence = `call ${call} exists and its recording was answered 404, request ${requestId ?? 'without id'}`
    const observations = [{ name: noRecordingBehaviour, value: 'answered 404', evidence }]
    await run.mirror.commit({ stream: 'call_recordings', rows: [], requestedAt, observations })
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}
