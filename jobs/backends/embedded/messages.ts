/** What is said between the process and the thread of the embedded store. */
import type { Ms } from '../../../src/core/time.ts'

export type Setting = {
  readonly dataFolder: string
  readonly schema: string
  readonly maintainMs: Ms
  /** How long an answer may take; twice that, and the thread counts as dead. */
  readonly silenceMs: Ms
}

/** Several statements only without values. */
export type Question = { readonly id: number; readonly text: string; readonly values: unknown[] }

/** BullMQ reads `code` and `detail` of Postgres's errors. */
export type Refusal = {
  readonly message: string
  readonly code: string | undefined
  readonly detail: string | undefined
}

export type Answer =
  | 'ready'
  | { readonly id: number; readonly rows: unknown[]; readonly rowCount: number }
  | { readonly id: number; readonly error: Refusal }
  | { readonly channel: string; readonly payload: string }

export function isSetting(value: unknown): value is Setting {
  return typeof value === 'object' && value !== null && 'dataFolder' in value && 'schema' in value
}
