/** The messages between the process and the thread of the embedded store. */
import type { Ms } from '../../../src/core/time.ts'

export type ThreadOptions = {
  readonly dataFolder: string
  readonly schema: string
  readonly maintainMs: Ms
  /** How often the size of Postgres's log is looked at. */
  readonly checkLogMs: Ms
  /** How long a response may take. After twice that time the thread counts as dead. */
  readonly silenceMs: Ms
}

/** `text` may hold several statements only if there are no values. */
export type SqlRequest = { readonly id: number; readonly text: string; readonly values: unknown[] }

/** BullMQ reads `code` and `detail` of Postgres errors. */
export type SqlError = {
  readonly message: string
  readonly code: string | undefined
  readonly detail: string | undefined
}

export type ThreadMessage =
  | 'ready'
  | { readonly id: number; readonly rows: unknown[]; readonly rowCount: number }
  | { readonly id: number; readonly error: SqlError }
  | { readonly channel: string; readonly payload: string }

export function isThreadOptions(value: unknown): value is ThreadOptions {
  return typeof value === 'object' && value !== null && 'dataFolder' in value && 'schema' in value
}
