/** A list of the service as data: how to request it, and how to compare its items. */

import type { QueryParams } from '../../../service/core/api-request.ts'
import type { Json } from '../../../values/json.ts'
import type { RowTimes } from './sort-order.ts'

export type ListEndpoint = {
  /** Prefix of its behaviours in `service_behaviours`: `conversations`. */
  readonly name: string
  readonly path: string
  /** Parameters of every request besides paging: `{ handled: false }`. */
  readonly query: QueryParams
  /** The parameter of the lower time bound: `since`, `from`; null = none. */
  readonly lowerParam: string | null
  /** The parameter of the upper time bound: `to`, `before`; null = none. */
  readonly upperParam: string | null
  /** Whether the bounds and `limit` are documented. Undocumented ones are tried, and dropped if refused or ignored. */
  readonly isDocumented: boolean
  /** Parameters that split the list into parts, to read a second with more rows than a page. */
  readonly partitions: readonly QueryParams[]
  /** Other page sizes than documented, for tests with small lists. */
  readonly pageSizes?: PageSizes
  /** Identifies an item across pages. */
  readonly identify: (item: Json) => string
  readonly times: (item: Json) => RowTimes
}

/** `most`: the largest page, which is requested. `usual`: the size of a page if `limit` is not sent or ignored. */
type PageSizes = { readonly most: number; readonly usual: number }

/** The service's documentation: "1 to 200, default 50". */
export const documentedPageSizes: PageSizes = { most: 200, usual: 50 }

export function pageSizesOf({ pageSizes }: ListEndpoint): PageSizes {
  return pageSizes ?? documentedPageSizes
}
