/** The events of a simulation by virtual time: a heap. */
import type { EpochMs } from '../../src/values/time.ts'

type Entry = { readonly at: EpochMs; readonly order: number; readonly run: () => void }

export type EventQueue = {
  readonly now: () => EpochMs
  /** Events of the same time run in the order in which they were scheduled. */
  readonly schedule: (at: EpochMs, run: () => void) => void
  /** Runs events until none is left, or the next one is later than `until`. */
  readonly run: (until: EpochMs) => void
}

export function createEventQueue(start: EpochMs): EventQueue {
  const heap: Entry[] = []
  let now = start
  let order = 0
  return {
    now: () => now,
    schedule: (at, run) => push(heap, { at: Math.max(at, now), order: order++, run }),
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
  let position = heap.push(entry) - 1
  while (position > 0) {
    const parent = (position - 1) >> 1
    const above = heap[parent]
    if (above === undefined || isBefore(above, entry)) break
    heap[position] = above
    position = parent
  }
  heap[position] = entry
}

function pop(heap: Entry[]): Entry | undefined {
  const first = heap[0]
  const last = heap.pop()
  if (first === undefined || last === undefined || heap.length === 0) return first
  let position = 0
  for (;;) {
    const child = firstChild(heap, position)
    const below = heap[child]
    if (below === undefined || isBefore(last, below)) break
    heap[position] = below
    position = child
  }
  heap[position] = last
  return first
}

function firstChild(heap: readonly Entry[], position: number): number {
  const [left, right] = [heap[2 * position + 1], heap[2 * position + 2]]
  return left !== undefined && right !== undefined && isBefore(right, left)
    ? 2 * position + 2
    : 2 * position + 1
}
