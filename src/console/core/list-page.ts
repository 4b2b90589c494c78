/** Lists a page at a time: how many rows it has, and where the next one begins. Pure. */

/** Of every list: a phone shows each row as a card. */
export const rowsPerPage = 25

/**
 * `rows`: one more than a page has says that others follow. `placeOf`: where a list goes on behind
 * this row. `next` null: none follow.
 */
export function toPage<Row>(
  rows: readonly Row[],
  limit: number,
  placeOf: (last: Row) => string | number,
) {
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return { rows: shown, next: last === undefined ? null : String(placeOf(last)) }
}

/** A number of digits that the databases hold; null if the address has another text there. */
export function digitsOf(text: string | null): string | null {
  return text !== null && /^\d{1,19}$/.test(text) && BigInt(text) <= maxInteger ? text : null
}

const maxInteger = 2n ** 63n - 1n

/** Where a list goes on that is numbered; 0 = at its beginning. */
export const placeIn = (text: string | null) =>
  Math.min(Number(digitsOf(text) ?? 0), Number.MAX_SAFE_INTEGER)
