/**
 * Logs refused requests at a rate: anybody who reaches the port can send them, as many as they
 * like. The first of a kind is logged at once, the others are counted, with a line a minute while
 * they go on.
 */
import type { Logger } from '../log.ts'
import type { Ms } from '../values/time.ts'

const periodMs: Ms = 60_000

/** By log and kind: how many came in the present period after its first. */
const counts = new WeakMap<Logger, Map<string, number>>()

export function logRefusal(
  log: Logger,
  refusal: {
    readonly event:
      | 'http.denied'
      | 'webhook.rejected'
      | 'console.token_refused'
      | 'console.sign_in_refused'
    readonly project?: string | null
    /** As it was declared, not as it was requested: there are few. */
    readonly route?: string | undefined
    readonly [field: string]: string | boolean | null | undefined
  },
): void {
  const ofLog = counts.get(log) ?? new Map<string, number>()
  counts.set(log, ofLog)
  const { event, project, route } = refusal
  const kind = JSON.stringify([event, project, route])
  const count = ofLog.get(kind)
  if (count !== undefined) return void ofLog.set(kind, count + 1)
  log.warn(refusal)
  const openPeriod = () => {
    ofLog.set(kind, 0)
    setTimeout(() => {
      const refused = ofLog.get(kind) ?? 0
      if (refused === 0) return void ofLog.delete(kind)
      log.warn({ event, project, route, refused, for_ms: periodMs })
      openPeriod()
    }, periodMs).unref()
  }
  openPeriod()
}
