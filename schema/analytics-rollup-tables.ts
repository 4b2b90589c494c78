/** What the numbers of the service's daily rollups count, and how they compare with counts of our own. */
import { projectColumns, type TableSpec } from './table-spec.ts'

export const analyticsRollupTables = {
  rollup_definitions: {
    note: 'What each number of the daily rollups counts, as learned by comparing it with counts of our own.',
    key: ['project_id', 'metric'],
    columns: {
      ...projectColumns,
      metric: ['key', 'dotted path of the number within the rollup'],
      verdict: ['text', 'proven, likely or unknown'],
      definition: ['text?', 'the count of our own that fits best'],
      days: ['int32', 'days compared'],
      days_equal: ['int32', 'days on which both are equal'],
      distinct_values: ['int32', 'different values on these days: the more, the stronger the evidence'],
      as_good: ['int32', 'counts of our own that fit as well'],
      next_best_equal: ['int32', 'days on which the next best count is equal'],
      mean_difference: ['number?', 'mean difference of the days'],
      learned_at: ['utc_time', 'when this was learned'],
    },
  },
  rollup_comparisons: {
    note: 'Each number of the daily rollups beside our own count.',
    key: ['project_id', 'window_from', 'window_to', 'metric'],
    columns: {
      ...projectColumns,
      window_from: ['utc_time', 'start of the day'],
      window_to: ['utc_time', 'end of the day, which is the start of the next'],
      metric: ['key', 'dotted path of the number within the rollup'],
      date: ['local_date', 'the local date'],
      service_value: ['number', "the service's number"],
      own_value: ['number?', 'our own count by the learned definition'],
      is_final: ['boolean', 'the day had ended when it was read, and the mirror has all of it'],
      compared_at: ['utc_time', 'when they were compared'],
    },
  },
} as const satisfies Record<string, TableSpec>
