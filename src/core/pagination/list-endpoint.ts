/** A list of the service, as data: how it is asked, and what makes its items comparable. */
import type { QueryParams } from '../api-request.ts'
import type { Json } from '../row.ts'
import type { RowTimes } from './sort-order.ts'

export type ListEndpoint = {
  /** Prefix of what is learned about it in `service_behaviours`: `conversations`. */
  readonly name: string
  readonly path: string
  /** Parameters of every page, paging aside: `{ handled: false }`. */
  readonly query: QueryParams
  /** The parameter that asks for a moment and what comes after: `since`, `from`; null = there is none. */
  readonly lowerParam: string | null
  /** The parameter that asks for a moment and what came before: `to`, `before`; null = there is none. */
  readonly upperParam: string | null
  /** Whether the bounds and `limit` are documented. Others are tried, and dropped when refused or ignored. */
  readonly isDocumented: boolean
  /** Ways to ask for a part of the list only, which together are the whole: the way through a crowded second. */
  readonly partitions: readonly QueryParams[]
  /** What makes an item known again. */
  readonly identify: (item: Json) => string
  readonly times: (item: Json) => RowTimes
}

/** The largest page that the service's documentation allows ("1 to 200, default 50"). */
export const maxPageSize = 200

/** The page size where `limit` is not sent or not heard. */
export const defaultPageSize = 50
