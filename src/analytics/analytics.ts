/** Facts, views and the report for analysts, derived from the mirror by one code. */
export { chooseReportPeriod, type DateRange, parseDate } from './core/report-period.ts'
export { hasWord, isFound, parseSearch, type SearchQuery } from './core/search-words.ts'
export { type Change, formatChange, formatValue } from './report/change.ts'
export { type Report, readReport } from './report/report.ts'
export { reportPage } from './report/report-page.ts'
export { weekLines } from './report/week-lines.ts'
export { countPendingConversations, isDerived } from './sql/facts-state.ts'
export { type GrantReport, grantToAnalyst } from './sql/grant.ts'
export { createProjectFacts, type FactsOptions, willDeriveAgain } from './sql/project-facts.ts'
export {
  conversationsOf,
  type FactFilter,
  type PeriodFilter,
  type PeriodRow,
  type PeriodValue,
  readAgentNames,
  readPeriodTable,
  type TableNumbers,
} from './sql/read-period-table.ts'
export { updateCallFields, writeCallFields } from './sql/reference-tables.ts'
export { lastMessageAt, removeSearchEntries } from './sql/search-index.ts'
export { explainDependentView, showDiscoveredColumns, updateAnalyticsViews } from './sql/views.ts'
export { countOnlyService, describeDifference, waitingCounted, waitingNow } from './sql/waiting.ts'
export { type PeriodTableName, periodTables } from './views/all-period-pages.ts'
export {
  analystObjects,
  analyticsObjects,
  analyticsViews,
  grantedNames,
} from './views/all-views.ts'
export { readingRules, typeWordOf, useOf } from './views/column-words.ts'
export type { PeriodTable } from './views/period-table.ts'
export { sqlDialects } from './views/sql-dialect.ts'
export { type AnalyticsView, describeColumn } from './views/view-spec.ts'
