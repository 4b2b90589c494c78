/** What happens when, in a time that only the simulation has: a heap of moments. */
import type { EpochMs } from '../../src/core/time.ts'

type Entry = { readonly at: EpochMs; readonly order: number; readonly run: () => void }

export type EventQueue = {
  readonly now: () => EpochMs
  /** What is due at the same moment happens in the order in which it was noted. */
  readonly schedule: (at: EpochMs, happen: () => void) => void
  /** Until nothing is left, or what is left comes later than `until`. */
  readonly run: (until: EpochMs) => void
}

export function createEventQueue(start: EpochMs): EventQueue {
  const heap: Entry[] = []
  let now = start
  let order = 0
  return {
    now: () => now,
    schedule: (at, happen) => push(heap, { at: Math.max(at, now), order: order++, run: happen }),
    run: (until) => {
      for (let next = pop(heap); next !== undefined && next.at <= until; next = pop(heap)) {
        now = next.at
        next.run()
      }
    },
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

function push(heap: Entry[], entry: Entry): void {
  let place = heap.push(entry) - 1
  while (place > 0) {
    const parent = (place - 1) >> 1
    const above = heap[parent]
    if (above === undefined || isBefore(above, entry)) break
    heap[place] = above
    place = parent
  }
  heap[place] = entry
}

function pop(heap: Entry[]): Entry | undefined {
  const first = heap[0]
  const last = heap.pop()
  if (first === undefined || last === undefined || heap.length === 0) return first
  let place = 0
  for (;;) {
    const child = firstChild(heap, place)
    const below = heap[child]
    if (below === undefined || isBefore(last, below)) break
    heap[place] = below
    place = child
  }
  heap[place] = last
  return first
}

function firstChild(heap: readonly Entry[], place: number): number {
  const [left, right] = [heap[2 * place + 1], heap[2 * place + 2]]
  return left !== undefined && right !== undefined && isBefore(right, left) ? 2 * place + 2 : 2 * place + 1
}
