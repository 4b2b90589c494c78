/** Unusual rows: `odd` ones, which a mirror must be able to store, and `unfit` ones, which it cannot store. */
import { type Json, type JsonObject, rawJson } from '../values/json.ts'
import type { Switches } from './switches.ts'

const rawNumber = (text: string) => rawJson(text) as Json

const oddFields: readonly ((n: number) => JsonObject)[] = [
  () => ({ 'nul\0in a name': 1, 'half\ud800': { '\udfff': 'x', 'esc␛0000': 2 }, '': 'no name' }),
  () => JSON.parse('{"__proto__":{"a":1},"constructor":"x","toString":{"valueOf":2},"hasOwnProperty":[]}'),
  () => ({ raw: 'x', synced_at: '2026-01-01T00:00:00Z', run_id: 7, asked_at: 'x', deleted_at: true, rowid: 1 }),
  () => ({ fooBar: 1, foo_bar: 2, 'foo bar': 3, FooBar: 4, 'foo.bar': 5, foo: { bar: 6 } }),
  () => ({ [`long${'.name'.repeat(1000)}`]: 1, ['A'.repeat(3000)]: 2, [`${'é'.repeat(290)}`]: 3 }),
  () => ({
    huge: rawNumber('1e400'),
    zero: rawNumber('-0'),
    digits: rawNumber(`1${'0'.repeat(400)}`),
    has: 'constructor',
  }),
  () => ({ day: '9999-99-99T00:00:00Z', year: '+275760-09-13T00:00:00Z', first: '0000-00-00T00:00:00Z' }),
  (n) => Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`wide${n % 4}_${i}`, i])),
  () => ({ nest: nestedJson(900), list: Array.from({ length: 5000 }, (_, i) => i) }),
]

/** More values than a mirror accepts in one row. */
const longList: Json = Array.from({ length: 110_000 }, () => 0)

const unfitRows: readonly ((row: JsonObject, project: string) => Json)[] = [
  (row) => ({ ...row, nest: nestedJson(1200) }),
  (row) => ({ ...row, list: longList }),
  (row) => ({ ...row, [idField(row)]: 'x'.repeat(5000) }),
  (row) => ({ ...row, projectId: '00000000-0000-4000-8000-000000000000' }),
  () => null,
  () => ['a list'],
  () => 'a string',
]

/** One row in so many is hostile, cycling through the kinds; messages, of which there are many, more rarely. */
const [every, everyMessage] = [11, 31]

/** Both select the same rows on every read. */
export function createHostility(project: string, { 'rows.hostile': kind }: Switches) {
  const odd = (n: number, every: number) => oddFields[Math.floor(n / every) % oddFields.length]?.(n)
  const unfit = (n: number, row: JsonObject) =>
    unfitRows[Math.floor(n / every) % unfitRows.length]?.(row, project) ?? null
  return {
    hostile: (n: number, row: JsonObject): Json => {
      if (kind === 'none' || n % every !== 3) return row
      return kind === 'odd' ? { ...row, ...odd(n, every) } : unfit(n, row)
    },
    /** It keeps its id, by which messages are compared with the truth. */
    hostileMessage: (id: number, row: JsonObject): JsonObject => {
      if (kind === 'none' || id % everyMessage !== 3) return row
      return { ...row, ...(kind === 'odd' ? odd(id, everyMessage) : { nest: nestedJson(1200) }) }
    },
  }
}

/** The field that holds a row's id. */
const idField = (row: JsonObject): string => ['id', 'visitor_id', 'call_id'].find((name) => name in row) ?? 'id'

function nestedJson(levels: number): Json {
  let value: Json = 'deep'
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { in: value }
  return value
}
