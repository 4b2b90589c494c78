/**
 * How the mirror reads from the service: each answer goes through the rules of its stream's columns
 * before anything sees it.
 */
import type { StreamName } from '../../../schema/stream-specs.ts'
import type { ApiGet, ApiResponse, ListItems } from '../../service/core/api-request.ts'
import { asJsonObject, type Json } from '../../values/json.ts'
import type { ColumnRules, Kept } from '../../values/private-columns.ts'

/** `stream`: of the rows in the answer. Throws ApiError. */
export type MirrorGet = (
  stream: StreamName,
  ...request: Parameters<ApiGet>
) => Promise<ApiResponse<Kept>>

export function createMirrorGet(get: ApiGet, rules: ColumnRules): MirrorGet {
  return async (stream, ...request) => {
    const { data, items, ...response } = await get(...request)
    const keep = (row: Json) => rules.keep(stream, row)
    const keptItems = items && keepItems(items, keep)
    return { ...response, data: keepData(data, keep), ...(keptItems && { items: keptItems }) }
  }
}

/** A row, or the rows of a list. */
function keepData(data: Json, keep: (row: Json) => Kept): Kept {
  if (Array.isArray(data)) return data.map(keep) as unknown as Kept
  const fields = asJsonObject(data)
  const rows = fields?.items
  return Array.isArray(rows) && fields?.id === undefined
    ? ({ ...fields, items: rows.map(keep) } as unknown as Kept)
    : keep(data)
}

/** They are parsed when they are asked for, as all of them may not fit into memory. */
function keepItems({ count, batches }: ListItems, keep: (row: Json) => Kept): ListItems<Kept> {
  return {
    count,
    *batches() {
      for (const batch of batches()) yield { ...batch, items: batch.items.map(keep) }
    },
  }
}
