import type { Priority } from './rate-limit/priority.ts'
import type { Json, RefusedRow } from './row.ts'
import type { EpochMs, Seconds } from './time.ts'

/** One call of the service, before it is sent. `path` starts with a slash and is relative to the base URL. */
export type ApiRequest = {
  readonly method: 'GET' | 'POST' | 'PATCH'
  readonly path: string
  readonly query?: QueryParams
  readonly body?: Json
  /** Where the answer may come without the envelope: then the whole body is its data. */
  readonly envelope?: 'optional'
  readonly priority: Priority
}

/** Query parameters; undefined ones are not sent. */
export type QueryParams = Readonly<Record<string, string | number | boolean | undefined>>

/** The rows of a list. They are built a portion at a time, as often as asked: all of them may be more than fits. */
export type ListItems = { readonly count: number; readonly batches: () => Iterable<ItemBatch> }
/** `refused`: rows that are too large to be built. */
export type ItemBatch = { readonly items: readonly Json[]; readonly refused: readonly RefusedRow[] }

/** A readable 2xx answer. */
export type ApiResponse = {
  /** The envelope's `data`; null where a write answers without a body. */
  readonly data: Json
  /** Where the list in `data` is too large to be built at once: its rows. `data` then holds nothing but `hasMore`. */
  readonly items?: ListItems
  readonly status: number
  readonly requestId: string | null
  /** The service's clock (its `Date` header); null where it sends none. */
  readonly servedAt: Seconds | null
  /** The smaller of the two clocks, the service's and this machine's, when the request left: no row carries a cursor beyond. */
  readonly cursorLimit: Seconds
  /** When the request left, by this machine's clock: the answer shows the world at this moment or later. */
  readonly askedAt: EpochMs
}

/** Reads from the service: waits for the budget, retries what is worth retrying, and throws CallFailed in the end. */
export type ApiGet = (path: string, query: QueryParams, lane: Priority) => Promise<ApiResponse>
