/** A request to the service, and a readable response. */
import type { RejectedRow } from '../../../schema/row.ts'
import type { Json } from '../../values/json.ts'
import type { EpochMs, EpochSeconds } from '../../values/time.ts'

/** `path`: from a slash, relative to the base URL. */
export type ApiRequest = {
  readonly method: 'GET' | 'POST' | 'PATCH'
  readonly path: string
  readonly query?: QueryParams
  readonly body?: Json
  /** The response may come without the envelope; then the whole body is its data. */
  readonly envelope?: 'optional'
  readonly priority: Priority
  /** Texts that no error and no log shows, although the service may repeat them. */
  readonly hidden?: readonly string[]
}

/** Query parameters; those that are undefined are not sent. */
export type QueryParams = Readonly<Record<string, string | number | boolean | undefined>>

/** Parsed in batches, as all may not fit into memory. Each call of `batches` starts anew. */
export type ListItems<Item extends Json = Json> = {
  readonly count: number
  /** `rejectedRows`: rows that are too large to parse. */
  readonly batches: () => Iterable<{
    readonly items: readonly Item[]
    readonly rejectedRows: readonly RejectedRow[]
  }>
}

/** `Item`: `Kept` in the mirror, which may not store all that the service sends. */
export type ApiResponse<Item extends Json = Json> = {
  /** The envelope's `data`; null if the response to a write has no body. */
  readonly data: Item
  /** Too large to parse at once: `data` then holds nothing but `hasMore`. */
  readonly items?: ListItems<Item>
  readonly status: number
  readonly requestId: string | null
  /** The service's clock (the `Date` header); null if it sends none. */
  readonly serverDate: EpochSeconds | null
  /** The earlier of two clocks when the request was sent. No row moves a cursor beyond it. */
  readonly cursorLimit: EpochSeconds
  /** By this machine's clock: the response shows the state of then or later. */
  readonly requestedAt: EpochMs
}

/** Reads from the service: waits for the request budget and retries. Throws ApiError. */
export type ApiGet<Item extends Json = Json> = (
  path: string,
  query: QueryParams,
  priority: Priority,
) => Promise<ApiResponse<Item>>

/**
 * Most urgent first: a write-back or its checks, new rows, backfill, comparing all rows. Each waits
 * for the more urgent ones and uses what they leave.
 */
export const priorities = ['write', 'fresh', 'backfill', 'reconcile'] as const
export type Priority = (typeof priorities)[number]
