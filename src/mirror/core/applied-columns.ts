/**
 * What a changed setting of `columns` means for what a stream has stored: rows are cleaned of what
 * may no longer be stored, and read again for what may be stored again. Pure.
 */
import type { AppliedRules, ColumnAction } from '../../values/private-columns.ts'
import type { EpochMs } from '../../values/time.ts'

/**
 * `applied`: the rules that all stored rows follow. `cleaning`: the rules that rows follow up to a
 * key; null: all do.
 */
export type ColumnState = {
  readonly applied: AppliedRules
  readonly cleaning: {
    readonly to: AppliedRules
    readonly after: readonly string[] | null
    /** All rows follow the rules; `after` is a place among their replaced versions. */
    readonly inHistory?: true
    /** When all rows were requested again; null: they were not. */
    readonly rereadSince: EpochMs | null
  } | null
}

export const noColumnState: ColumnState = { applied: { columns: [], key: null }, cleaning: null }

/** `last`: the key at which a batch ended; null: there are no more rows, or replaced versions. */
export function afterBatch(
  state: ColumnState,
  last: readonly string[] | null,
  hasHistory: boolean,
): ColumnState {
  const { cleaning } = state
  if (cleaning === null) return state
  if (last !== null) return { ...state, cleaning: { ...cleaning, after: last } }
  return hasHistory && cleaning.inHistory !== true
    ? { ...state, cleaning: { ...cleaning, after: null, inHistory: true } }
    : { applied: cleaning.to, cleaning: null }
}

/**
 * The columns whose values have to be read again, and the state to begin with. Null: nothing has
 * changed since, or the cleaning only has to go on.
 */
export function planChange(state: ColumnState, wanted: AppliedRules) {
  const { applied, cleaning } = state
  if (isEqual(cleaning?.to ?? applied, wanted)) return null
  // Rows may follow either, if the cleaning for the other one has not ended.
  const before = [applied, ...(cleaning === null ? [] : [cleaning.to])]
  const actions = new Map(wanted.columns)
  const toReread = before.flatMap(({ columns, key }) =>
    columns.filter(([path, was]) => isLost(was, actions.get(path), key !== wanted.key)),
  )
  return {
    toReread: [...new Set(toReread.map(([path]) => path))],
    /** `rereadAt`: null if no row is requested again. */
    begun: (rereadAt: EpochMs | null): ColumnState => {
      const rereadSince = rereadAt ?? cleaning?.rereadSince ?? null
      return { applied: mergeRules(before), cleaning: { to: wanted, after: null, rereadSince } }
    },
  }
}

/** What the rules would store again, or with another key, of what is private in stored rows. */
export function laxColumns(state: ColumnState | undefined, rules: AppliedRules): readonly string[] {
  return (state && planChange(state, rules)?.toReread) ?? []
}

/** What the rules no longer allow of what stored rows may have. */
export function columnsToClean(
  { applied, cleaning }: ColumnState = noColumnState,
  { columns }: AppliedRules,
): readonly string[] {
  const before = [applied, ...(cleaning === null ? [] : [cleaning.to])]
  const isKept = ([path, action]: AppliedRules['columns'][number]) =>
    before.every((rules) =>
      rules.columns.some(([own, was]) => own === path && (was === 'block' || was === action)),
    )
  return columns.filter((rule) => !isKept(rule)).map(([path]) => path)
}

/** What is stored in place of the value does not tell what is to be stored now. */
function isLost(was: ColumnAction, now: ColumnAction | undefined, isKeyNew: boolean): boolean {
  return now !== 'block' && (was === 'block' || now === undefined || isKeyNew)
}

function mergeRules(all: readonly AppliedRules[]): AppliedRules {
  const columns = new Map(all.flatMap((rules) => rules.columns))
  const [key = null, ...others] = new Set(all.map((rules) => rules.key))
  return { columns: [...columns], key: others.length > 0 ? null : key }
}

const isEqual = (a: AppliedRules, b: AppliedRules) => JSON.stringify(a) === JSON.stringify(b)
