/** Ctrl-C, once: finish what is in hand. Twice: at once. */
import type { EpochMs } from '../core/time.ts'

/** npm passes a terminal's Ctrl-C on to a program that has already got it: two so close together are one. */
const duplicateMs = 400

export type InterruptKind = 'first' | 'echo' | 'again'

export function classifyInterrupt(firstAt: EpochMs | null, now: EpochMs): InterruptKind {
  if (firstAt === null) return 'first'
  return now - firstAt < duplicateMs ? 'echo' : 'again'
}

/** A signal that SIGINT, SIGTERM and SIGHUP abort. `say` tells the person that it stops after what is `inHand`. */
export function createInterruptSignal(notify: (line: string) => void, inHand: string): AbortSignal {
  const controller = new AbortController()
  let firstAt: EpochMs | null = null
  const stop = () => {
    const now = Date.now()
    const kind = classifyInterrupt(firstAt, now)
    if (kind === 'again') process.exit(1)
    if (kind === 'echo') return
    firstAt = now
    notify(`stopping after ${inHand}; once more stops at once`)
    controller.abort()
  }
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, stop)
  return controller.signal
}
