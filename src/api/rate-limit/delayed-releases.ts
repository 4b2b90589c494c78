/** The slots of answered requests. A slot that is released late becomes free late, never too early. */
import type { Slot } from '../../core/rate-limit/budget.ts'
import type { Ms } from '../../core/time.ts'
import type { BudgetStore } from './state-store.ts'

/** How long the slot of an answered request waits to be released together with others, or with the next request. */
const releaseDelayMs: Ms = 25

export function createDelayedReleases({ release }: Pick<BudgetStore, 'release'>) {
  let responded: Slot[] = []
  let timer: NodeJS.Timeout | undefined
  const flush = async (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    const slots = responded
    responded = []
    await Promise.all(slots.map((slot) => release(slot, 'responded').catch(() => {})))
  }
  const add = (slot: Slot): void => {
    responded.push(slot)
    timer ??= setTimeout(() => void flush(), releaseDelayMs)
  }
  return { add, flush }
}
