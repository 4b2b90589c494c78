/** Checks of batches with the service: in the background, as they take longer than a page may, and one of each batch. */
import { UserError } from '../values/user-error.ts'
import type { ConsoleProject } from './project.ts'

/** `rows`: that were compared. `failed`: why it ended before all were. */
export type Check = { readonly rows: number; readonly isRunning: boolean; readonly failed: string | null }

export type Checks = ReturnType<typeof createChecks>

export function checkKey({ projectId }: Pick<ConsoleProject, 'projectId'>, batch: string): string {
  return `${projectId} ${batch}`
}

/** Names of batches that people checked last are remembered. */
const maxKeys = 100

export function createChecks() {
  const checks = new Map<string, Check>()
  const running = new Set<Promise<void>>()
  const stop = new AbortController()
  return {
    /** Null: none was started by this process. */
    find: (key: string): Check | null => checks.get(key) ?? null,
    /** Throws UserError if it is being checked already. `onBug`: gets what is no UserError, which the page does not show. */
    start: (
      key: string,
      work: (signal: AbortSignal, onProgress: (rows: number) => void) => Promise<unknown>,
      onBug: (error: unknown) => void,
    ): void => {
      if (checks.get(key)?.isRunning === true)
        throw new UserError({
          ...{ what: 'nothing was changed', why: 'it is being checked already', next: 'its page says how far it is' },
          exitCode: 2,
        })
      const [oldest] = checks.keys()
      if (checks.size >= maxKeys && oldest !== undefined) checks.delete(oldest)
      const update = (change: Partial<Check>) =>
        void checks.set(key, { rows: 0, isRunning: true, failed: null, ...checks.get(key), ...change })
      checks.delete(key)
      update({})
      const check = work(stop.signal, (rows) => update({ rows })).then(
        () => update({ isRunning: false }),
        (error: unknown) => {
          if (!(error instanceof UserError)) onBug(error)
          update({ isRunning: false, failed: error instanceof UserError ? error.message : 'see the log' })
        },
      )
      running.add(check)
      void check.finally(() => running.delete(check))
    },
    close: async (): Promise<void> => {
      stop.abort()
      await Promise.all(running)
    },
  }
}
