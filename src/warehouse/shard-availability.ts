/** Asks several databases at once, and goes on without those that are away: their projects wait, and no others. */
import { isWarehouseUnavailable } from './database/explain-error.ts'
import type { Warehouse } from './open.ts'

export type Answer<T> = { readonly warehouse: Warehouse; readonly value: T }

export function createAvailability(all: readonly Warehouse[]) {
  const away = new Set<Warehouse>()
  return {
    /** Did not answer when it was asked last. */
    isAway: (warehouse: Warehouse): boolean => away.has(warehouse),
    /** The answers of those that are not away. Rejects if all of them are, or if one fails for another reason. */
    askEach: async <T>(ask: (warehouse: Warehouse) => Promise<T>): Promise<readonly Answer<T>[]> => {
      const failures: unknown[] = []
      const answers = await Promise.all(
        all.map((warehouse) =>
          ask(warehouse).then(
            (value): Answer<T>[] => {
              away.delete(warehouse)
              return [{ warehouse, value }]
            },
            (error: unknown): Answer<T>[] => {
              if (isWarehouseUnavailable(error)) away.add(warehouse)
              failures.push(error)
              return []
            },
          ),
        ),
      )
      const serious = failures.find((error) => !isWarehouseUnavailable(error))
      if (serious !== undefined) throw serious
      if (failures.length === all.length) throw failures[0]
      return answers.flat()
    },
  }
}
