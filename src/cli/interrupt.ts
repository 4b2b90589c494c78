/** Ctrl-C, once: finish what is in hand. Twice: at once. */
import type { EpochMs } from '../core/time.ts'

/** npm passes a terminal's Ctrl-C on to a program that has already got it: two so close together are one. */
const echoMs = 400

export type Press = 'first' | 'echo' | 'again'

export function press(firstAt: EpochMs | null, now: EpochMs): Press {
  if (firstAt === null) return 'first'
  return now - firstAt < echoMs ? 'echo' : 'again'
}

/** A signal that SIGINT, SIGTERM and SIGHUP abort. `say` tells the person that it stops after what is `inHand`. */
export function interruptible(say: (line: string) => void, inHand: string): AbortSignal {
  const controller = new AbortController()
  let firstAt: EpochMs | null = null
  const stop = () => {
    const now = Date.now()
    const pressed = press(firstAt, now)
    if (pressed === 'again') process.exit(1)
    if (pressed === 'echo') return
    firstAt = now
    say(`stopping after ${inHand}; once more stops at once`)
    controller.abort()
  }
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, stop)
  return controller.signal
}
